"""`millstream refresh`: makes a running job read a reference table again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.load_job import load_job
from millstream.cli.options import AsJson, JobFile, Variables
from millstream.plan.nodes import Job
from millstream.plan.nodes.traversal import reference_tables_of
from millstream.values import Lookup

EPILOG = """
Examples:

  millstream refresh job.sql rates

  millstream refresh job.sql rates --checkpoint /data/checkpoints/job

The table must have 'refresh.on' = 'command', 'refresh.on' = 'change' or a 'refresh.interval'. The
new version applies to micro-batches that start after the table was read.
"""


def refresh(
    job: JobFile,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table to read again.")],
    variables: Variables = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The checkpoint of the running job, as in `run`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a running job read a reference table again."""
    with reported(as_json):
        loaded = load_job(job, variables, None)
        from millstream.run.settings import settings_of
        from millstream.run.tables import request_refresh

        name = _known(loaded, table)
        folder = settings_of(loaded, job, checkpoint=checkpoint).checkpoint
        request_refresh(folder, name)
        if as_json:
            print_json({"table": name, "requested": True})
        else:
            print(f"The job with the checkpoint {folder} will read {name} again.")


def _known(job: Job, table: str) -> str:
    tables = {each.name.lower(): each for each in reference_tables_of(job)}
    found = tables.get(table.lower())
    if found is None:
        raise CommandError(
            "MS-CLI-TABLE",
            f"the job does not join a table {table}.",
            fix=f"It joins {', '.join(each.name for each in tables.values())}."
            if tables
            else "It has no reference tables.",
        )
    if isinstance(found.access, Lookup):
        raise CommandError(
            "MS-CLI-TABLE",
            f"{found.name} is looked up in its database row by row, so it cannot be refreshed.",
            fix="Set 'lookup.cache.ttl' to limit the age of cached rows.",
        )
    if not found.access.refreshed:
        raise CommandError(
            "MS-CLI-TABLE",
            f"{found.name} is read only once, when the job starts.",
            fix="Add 'refresh.on' = 'command' to the table and restart the job.",
        )
    return found.name
