"""`millstream explain`: shows the plan of a job without running it."""

from __future__ import annotations

from millstream.cli.errors import print_json, reported
from millstream.cli.load_job import load_job, placed_in
from millstream.cli.options import AsJson, CatalogUrl, EngineOption, JobFile, Variables

EPILOG = """
Examples:

  millstream explain job.sql

  millstream explain job.sql --set day=2026-01-15 --engine native

  millstream explain job.sql --json | jq '.pipelines[].engine'
"""


def explain(
    job: JobFile,
    variables: Variables = None,
    engine: EngineOption = None,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the plan of a job: engine, time bounds, state retention, late rows.

    Spark is not started. A job that is invalid, or whose state would grow forever, is rejected with
    the same error as in `run`. Sources and sinks do not need a connector yet.
    """
    with reported(as_json):
        from millstream.catalog.stream_tables import stream_tables
        from millstream.plan.explain.render import explain as as_text
        from millstream.plan.explain.render import explain_json
        from millstream.run.settings import settings_of

        loaded = load_job(job, variables, engine, stream_tables(catalog))
        with placed_in(job):
            settings_of(loaded, job)
        if as_json:
            print_json(explain_json(loaded))
        else:
            print(as_text(loaded), end="")
