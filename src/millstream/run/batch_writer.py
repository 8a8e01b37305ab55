"""Writes one micro-batch to the sinks of all its outputs by the protocol of `connectors/sink`.

    begin all ─▶ executors write ─▶ before_commit ─▶ commit one after the other
        └────────────────┴────────────────┴─ an error: abort those that are not committed

After a crash at any point, Spark runs the batch again under the same number. All outputs then go
through the same calls, also those that were committed: a second commit replaces the output of the
first, or finds it complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from millstream.connectors.sink import BatchId, Sink, WriterOpener
from millstream.engine.processor.routing import BatchReport

Openers = Mapping[str, WriterOpener]


def write_batch(
    sinks: Mapping[str, Sink],
    ids: Mapping[str, BatchId],
    execute: Callable[[Openers], BatchReport],
    before_commit: Callable[[BatchReport, Openers], None],
) -> BatchReport:
    """Writes a batch to `sinks`, by output. `execute` runs the tasks; if `before_commit` raises,
    nothing becomes visible."""
    report = BatchReport()
    openers: dict[str, WriterOpener] = {}
    open_outputs: list[str] = []
    try:
        for name, sink in sinks.items():
            open_outputs.append(name)
            openers[name] = sink.begin(ids[name])
        report = execute(openers)
        before_commit(report, openers)
        for name, sink in sinks.items():
            sink.commit(ids[name], report.messages(name))
            open_outputs.remove(name)
    except BaseException:
        for name in open_outputs:
            with suppress(Exception):  # what went wrong first is what is reported
                sinks[name].abort(ids[name], report.messages(name))
        raise
    return report
