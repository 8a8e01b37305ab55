"""`millstream refresh`: asks a running job to read a reference table anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.load_job import load_job
from millstream.cli.options import AsJson, JobFile, Variables
from millstream.plan.nodes import Job
from millstream.plan.nodes.traversal import references_of
from millstream.values import Lookup

EPILOG = """
Examples:

  millstream refresh job.sql rates

  millstream refresh job.sql rates --checkpoint /data/checkpoints/job

The table must say 'refresh.on' = 'command', 'refresh.on' = 'change' or a 'refresh.interval'.
The new version is in force from the micro-batch on that starts after it was read.
"""


def refresh(
    job: JobFile,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table to read anew.")],
    variables: Variables = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The checkpoint of the running job, as `run` has it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a running job read a reference table anew."""
    with reported(as_json):
        loaded = load_job(job, variables, None)
        from millstream.run.settings import settings_of
        from millstream.run.tables import ask_for

        name = _known(loaded, table)
        folder = settings_of(loaded, job, checkpoint=checkpoint).checkpoint
        ask_for(folder, name)
        if as_json:
            print_json({"table": name, "asked": True})
        else:
            print(f"{name} will be read anew by the job that runs from {folder}.")


def _known(job: Job, table: str) -> str:
    held = {each.name.lower(): each for each in references_of(job)}
    found = held.get(table.lower())
    if found is None:
        raise CommandError(
            "MS-CLI-TABLE",
            f"the job joins no table {table}.",
            fix=f"It joins {', '.join(each.name for each in held.values())}."
            if held
            else "It has no reference tables.",
        )
    if isinstance(found.access, Lookup):
        raise CommandError(
            "MS-CLI-TABLE",
            f"{found.name} is asked in its database, row by row, and has nothing to refresh.",
            fix="'lookup.cache.ttl' says how old an answer may be.",
        )
    if not found.access.refreshed:
        raise CommandError(
            "MS-CLI-TABLE",
            f"{found.name} is read once, when the job starts.",
            fix="Add 'refresh.on' = 'command' to the table and start the job again.",
        )
    return found.name
