"""`millstream run`: runs a job until it is stopped, or once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, reported
from millstream.cli.load_job import load_checkpoint, load_job, placed_in
from millstream.cli.options import AsJson, CatalogUrl, EngineOption, JobFile, Variables

EPILOG = """
Examples:

  millstream run job.sql --once --flush       all input there is, close everything, end

  millstream run job.sql --once               what is there now; the next run goes on from here

  millstream run job.sql --every 10s          a micro-batch every 10 seconds, until Ctrl-C

  millstream run job.sql --set day=2026-01-15 --json > account.json

Paths in a job are relative to the folder of its file; --checkpoint and --log to where you are.
A job that is stopped, or killed, goes on from its checkpoint and writes no row twice.
"""


def run(
    job: JobFile,
    variables: Variables = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the job keeps its place and state. Default: SET 'checkpoint' in the job, "
            "else .millstream/<job> beside the job.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Take in what is there now, then end. State is kept.")
    ] = False,
    flush: Annotated[
        bool,
        typer.Option("--flush", help="With --once: the input has ended; all held rows come out."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="First remove the checkpoint and what file sinks wrote."),
    ] = False,
    every: Annotated[
        str | None, typer.Option(metavar="10s", help="Time between micro-batches.")
    ] = None,
    engine: EngineOption = None,
    catalog: CatalogUrl = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Cores for a local Spark. Default: all, at most 8.")
    ] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Spark's own log. Default: spark.log in the checkpoint."),
    ] = None,
) -> None:
    """Run a job, show its progress, and account for every row at the end.

    It runs until Ctrl-C or SIGTERM, and goes on from its checkpoint when it is started again.
    """
    with reported(as_json):
        if once and every:
            raise CommandError(
                "MS-CLI-TRIGGER", "--once and --every exclude each other.", fix="Leave one out."
            )
        from millstream.catalog.stream_tables import stream_tables
        from millstream.run.dataset_versions import DatasetVersions, recorded_versions
        from millstream.run.settings import settings_of

        # A job keeps the versions of datasets that it began with.
        folder = checkpoint or load_checkpoint(job, variables)
        recorded = {} if fresh else recorded_versions(folder).chosen
        datasets = stream_tables(catalog, recorded)
        loaded = load_job(job, variables, engine, datasets)
        from millstream.cli.run_job import Request, execute

        with placed_in(job):
            settings = settings_of(
                loaded, job, checkpoint=checkpoint, once=once, flush=flush, every=every
            )
        if flush and not settings.once:
            raise CommandError(
                "MS-CLI-TRIGGER",
                "--flush ends the input, and a job that runs on has no end of input.",
                fix="Add --once.",
            )
        versions = DatasetVersions(datasets.chosen, datasets.pinned)
        request = Request(job, loaded, settings, log, cores, fresh, quiet, as_json, versions)
        if code := execute(request):
            raise typer.Exit(code)
