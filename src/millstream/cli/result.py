"""Prints the result of a run: rows, ledgers, and the location of other rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console

from millstream.cli import errors as fail
from millstream.cli.formats import shown
from millstream.cli.preview import preview
from millstream.connectors.file.output import PREVIEWED
from millstream.connectors.registry import open_output
from millstream.errors import MillstreamError
from millstream.observe.ledger_text import format_ledger
from millstream.plan.nodes import Query, SinkDef
from millstream.plan.secrets import mask_secret
from millstream.run.checkpoint import Checkpoint
from millstream.run.job import JobRun, Status
from millstream.run.ledger_store import LedgerStore
from millstream.run.outputs import OutputLocation, output_locations, side_output_locations
from millstream.run.query import RunningQuery
from millstream.temporal import OutputMode

if TYPE_CHECKING:
    from millstream.cli.run_job import Request


def show(request: Request, running: Sequence[RunningQuery]) -> None:
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console.width = 200  # output to a file does not need to fit a screen
    for each in running:
        ledger = each.ledger_store.ledger
        outputs = output_locations(each.plan, request.settings, ledger)
        others = side_output_locations(request.job, each.plan, request.settings, ledger)
        if request.settings.once:
            for sink, to in zip(each.plan.sinks, outputs, strict=True):
                _preview(console, request, each, sink, to)
        print(format_ledger(each.plan.title, ledger))
        for to in (*outputs, *(other for other in others if other.rows)):
            if to.path is not None:
                print(f"{to.rows:,} {to.what} in {shown(to.path)}")


def _preview(
    console: Console, request: Request, each: RunningQuery, sink: SinkDef, to: OutputLocation
) -> None:
    pipeline = next(output for output in each.plan.outputs if output.sink == sink)
    names = [column.name for column in pipeline.root.columns]
    if pipeline.mode is not OutputMode.APPEND:
        names.append("_OP")
    settings = request.settings
    output = open_output(settings.connectors, sink, settings.base)
    table = preview(output, names, each.first_batch)
    if table is not None:
        console.print(table)
    elif output is not None and to.path is not None and to.format in PREVIEWED:
        print(f"{sink.name}: this run wrote no rows")


def after_failure(run: JobRun) -> Iterator[str]:
    """Describes the outcome of each query of a failed job with several queries."""
    if len(run.queries) == 1:
        return
    written = {each.plan.name: each.ledger_store for each in run.running}
    failed = ", ".join(query.title for query in run.queries if query.name in run.failures)
    for query in run.queries:
        ledger = (written.get(query.name) or _stored_ledger(run, query)).ledger
        rows = f"{ledger.rows_out:,} rows written so far"
        match run.status(query):
            case Status.FAILED:
                yield f"{query.title}: failed; {rows}. The next run continues it."
            case Status.STOPPED:
                why = f"stopped because {failed or 'the job'} failed"
                yield f"{query.title}: {why}; {rows}. The next run continues it."
            case Status.COMPLETED:
                yield f"{query.title}: completed; {rows}."


def _stored_ledger(run: JobRun, query: Query) -> LedgerStore:
    """Returns the ledger of the runs before, for a query that this run did not start."""
    checkpoint = Checkpoint(run.checkpoint / query.name)
    return LedgerStore.open(query, checkpoint.ledger, checkpoint.next_batch)


def as_data(
    request: Request, run: JobRun | None, errors: Sequence[MillstreamError]
) -> dict[str, Any]:
    """Returns the result of a run as one JSON object."""
    queries = []
    for each in run.running if run else ():
        assert run is not None
        ledger = each.ledger_store.ledger
        outputs = output_locations(each.plan, request.settings, ledger)
        others = side_output_locations(request.job, each.plan, request.settings, ledger)
        queries.append(
            {
                "name": each.plan.name,
                "status": str(run.status(each.plan)),
                "error": _error(run.failures.get(each.plan.name), request),
                "engine": str(each.engine),
                "first_batch": each.first_batch,
                "last_batch": each.ledger_store.batch if each.ledger_store.batch >= 0 else None,
                "ledger": ledger.as_data(),
                "sinks": [
                    {"name": sink.name, **_as_data(to)}
                    for sink, to in zip(each.plan.sinks, outputs, strict=True)
                ],
                "side_outputs": [_as_data(other) for other in others],
            }
        )
    return {
        "job": str(request.file),
        "checkpoint": str(request.settings.checkpoint),
        "queries": queries,
        "error": fail.as_data(errors[0]) if errors else None,
    }


def _error(error: MillstreamError | None, request: Request) -> dict[str, Any] | None:
    return None if error is None else fail.as_data(error.in_file(str(request.file)))


def _as_data(to: OutputLocation) -> dict[str, Any]:
    return asdict(to) | {"path": None if to.path is None else mask_secret("path", to.path)}
