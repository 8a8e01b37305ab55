"""`millstream explain`: shows the plan of a job without running it."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.errors import print_json, reported
from millstream.cli.load_job import load_checkpoint, load_job, placed_in
from millstream.cli.options import AsJson, CatalogUrl, EngineOption, JobFile, Variables

EPILOG = """
Examples:

  millstream explain job.sql

  millstream explain --check job.sql

  millstream explain job.sql --set day=2026-01-15 --engine native

  millstream explain job.sql --json | jq '.pipelines[].engine'
"""


def explain(
    job: JobFile,
    variables: Variables = None,
    engine: EngineOption = None,
    catalog: CatalogUrl = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Let Spark analyze all queries, without reading data."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the plan of a job: engine, time bounds, state retention, late rows.

    A job that is invalid, or whose state would grow forever, is rejected with the same error as in
    `run`. Spark is not started, and sources and sinks do not need a connector yet. With --check,
    Spark's analyzer verifies all queries and their sinks, without reading data.
    """
    with reported(as_json):
        from millstream.catalog.stream_tables import stream_tables
        from millstream.plan.explain.render import explain as as_text
        from millstream.plan.explain.render import explain_json
        from millstream.run.dataset_versions import DatasetVersions, recorded_versions
        from millstream.run.settings import settings_of

        recorded = recorded_versions(load_checkpoint(job, variables)).chosen
        tables = stream_tables(catalog, recorded)
        loaded = load_job(job, variables, engine, tables)
        datasets = DatasetVersions(tables.chosen, tables.pinned)
        with placed_in(job):
            settings = settings_of(loaded, job)
            if check:
                from millstream.run.analysis import analyze_job

                analyze_job(loaded, settings)
        if as_json:
            versions = {"datasets": datasets.by_name} if datasets.by_name else {}
            print_json({**explain_json(loaded), **versions})
        else:
            print(as_text(loaded), end="")
            for line in datasets.lines():
                print(f"dataset {line}")
            if check:
                print("\nSpark accepts all queries.")
