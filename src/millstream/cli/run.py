"""`millstream run`: runs a job continuously or once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, reported
from millstream.cli.load_job import load_checkpoint, load_job, placed_in
from millstream.cli.options import AsJson, CatalogUrl, EngineOption, JobFile, Variables

EPILOG = """
Examples:

  millstream run job.sql --once --flush       process all input, emit all results, exit

  millstream run job.sql --once               process available input; the next run resumes here

  millstream run job.sql --every 10s          a micro-batch every 10 seconds, until Ctrl-C

  millstream run job.sql --set day=2026-01-15 --json > ledger.json

Paths in a job are relative to the folder of its file; --checkpoint and --log are relative to the
working directory. A job that was stopped or killed resumes from its checkpoint, without duplicate
rows in exactly-once sinks.
"""


def run(
    job: JobFile,
    variables: Variables = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of offsets and state. Default: SET 'checkpoint' in the job, or "
            ".millstream/<job> beside the job.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Process available input, then exit. State is retained.")
    ] = False,
    flush: Annotated[
        bool,
        typer.Option("--flush", help="With --once: end the input and emit all rows in state."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="First delete the checkpoint and the files of file sinks. It deletes no rows of "
            "databases, topics and lake tables: empty them first, or the job writes its results "
            "there again.",
        ),
    ] = False,
    every: Annotated[
        str | None, typer.Option(metavar="10s", help="Time between starts of micro-batches.")
    ] = None,
    engine: EngineOption = None,
    catalog: CatalogUrl = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Cores of local Spark. Default: all, at most 8.")
    ] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Spark's log. Default: spark.log in the checkpoint."),
    ] = None,
) -> None:
    """Run a job, show its progress, and print the ledger at the end.

    Without --once, the job runs until Ctrl-C, SIGTERM or SIGHUP. The next run resumes from the
    checkpoint.
    """
    with reported(as_json):
        if once and every:
            raise CommandError(
                "MS-CLI-TRIGGER",
                "--once and --every cannot be combined.",
                fix="Remove one of them.",
            )
        from millstream.catalog.stream_tables import stream_tables
        from millstream.run.dataset_versions import DatasetVersions, recorded_versions
        from millstream.run.settings import settings_of

        # A job uses the dataset versions of its first run.
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
                "--flush ends the input, but a continuous job has no end of input.",
                fix="Add --once.",
            )
        versions = DatasetVersions(datasets.chosen, datasets.pinned)
        request = Request(job, loaded, settings, log, cores, fresh, quiet, as_json, versions)
        if code := execute(request):
            raise typer.Exit(code)
