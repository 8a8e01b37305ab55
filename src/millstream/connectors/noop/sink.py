"""The noop sink: runs the query and discards its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from millstream.connectors.arrow_writer import ArrowOpener
from millstream.connectors.sink import BatchId, Message
from millstream.plan.nodes import SinkDef


def open_sink(sink: SinkDef, base: Path) -> NoopSink:  # noqa: ARG001
    return NoopSink()


class NoopSink:
    """Discards rows, for benchmarks."""

    stable_tasks: ClassVar[bool] = False
    spark_format = "noop"

    def begin(self, batch: BatchId) -> ArrowOpener:  # noqa: ARG002
        return ArrowOpener(0)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...
