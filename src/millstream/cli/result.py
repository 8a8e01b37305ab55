"""What came of a run: rows written, the account, where other rows went."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console

from millstream.cli import fail
from millstream.cli.preview import preview
from millstream.cli.words import shown
from millstream.connectors.registry import open_output
from millstream.errors import MillstreamError
from millstream.observe.account_text import account_text
from millstream.plan.explain.secrets import masked
from millstream.run.destinations import Destination, destinations
from millstream.run.job import JobRun, Status
from millstream.run.running import Running
from millstream.temporal import OutputMode

if TYPE_CHECKING:
    from millstream.cli.execute import Request


def show(request: Request, running: Sequence[Running]) -> None:
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console.width = 200  # a table in a file need not fit a screen
    for each in running:
        account = each.tally.account
        sink, *others = destinations(request.job, each.pipeline, request.settings, account)
        if request.settings.once:
            _preview(console, request, each, sink)
        print(account_text(each.pipeline.name, account))
        for to in (sink, *(other for other in others if other.rows)):
            if to.path is not None:
                print(f"{to.rows:,} {to.what} in {shown(to.path)}")


def _preview(console: Console, request: Request, each: Running, sink: Destination) -> None:
    names = [column.name for column in each.pipeline.root.columns]
    if each.pipeline.mode is not OutputMode.APPEND:
        names.append("_OP")
    settings = request.settings
    output = open_output(settings.connectors, each.pipeline.sink, settings.base)
    table = preview(output, names, each.first_batch)
    if table is not None:
        console.print(table)
    elif sink.path is not None:
        print(f"{each.pipeline.name}: this run wrote no rows")


def after_failure(run: JobRun) -> Iterator[str]:
    """Describes the outcome of each query of a failed job with several queries."""
    pipelines = run.job.pipelines
    if len(pipelines) == 1:
        return
    written = {each.pipeline.name: each.tally.account.rows_out for each in run.running}
    failed = ", ".join(run.failures) or "the job"
    for pipeline in pipelines:
        rows = f"{written.get(pipeline.name, 0):,} rows written so far"
        match run.status(pipeline):
            case Status.FAILED:
                yield f"{pipeline.name}: failed; {rows}. The next run continues it."
            case Status.STOPPED:
                why = f"stopped because {failed} failed"
                yield f"{pipeline.name}: {why}; {rows}. The next run continues it."
            case Status.COMPLETED:
                yield f"{pipeline.name}: completed; {rows}."


def as_data(
    request: Request, run: JobRun | None, errors: Sequence[MillstreamError]
) -> dict[str, Any]:
    """The run as one JSON object."""
    pipelines = []
    for each in run.running if run else ():
        assert run is not None
        account = each.tally.account
        sink, *others = destinations(request.job, each.pipeline, request.settings, account)
        pipelines.append(
            {
                "name": each.pipeline.name,
                "status": str(run.status(each.pipeline)),
                "error": _error(run.failures.get(each.pipeline.name), request),
                "engine": str(each.engine),
                "first_batch": each.first_batch,
                "last_batch": each.tally.batch if each.tally.batch >= 0 else None,
                "account": account.as_data(),
                "sink": {"name": each.pipeline.sink.name, **_as_data(sink)},
                "side_outputs": [_as_data(other) for other in others],
            }
        )
    return {
        "job": str(request.file),
        "checkpoint": str(request.settings.checkpoint),
        "pipelines": pipelines,
        "error": fail.as_data(errors[0]) if errors else None,
    }


def _error(error: MillstreamError | None, request: Request) -> dict[str, Any] | None:
    return None if error is None else fail.as_data(error.in_file(str(request.file)))


def _as_data(to: Destination) -> dict[str, Any]:
    return asdict(to) | {"path": None if to.path is None else masked("path", to.path)}
