"""The console sink: prints the rows of each batch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from millstream.connectors.arrow_writer import ArrowOpener, collect_rows
from millstream.connectors.sink import BatchId, Message
from millstream.plan.nodes import SinkDef


def open_sink(sink: SinkDef, base: Path) -> ConsoleSink:  # noqa: ARG001
    return ConsoleSink(sink.name, int(sink.option("rows", "20")))


class ConsoleSink:
    """Prints the first rows of each batch."""

    stable_tasks: ClassVar[bool] = False

    def __init__(self, name: str, rows: int = 20) -> None:
        self._name = name
        self._rows = rows

    def begin(self, batch: BatchId) -> ArrowOpener:  # noqa: ARG002
        return ArrowOpener(self._rows)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        count = sum(message["rows"] for message in messages)
        if not count:
            return
        table = Table(title=f"{self._name}, batch {batch.batch}: {count} rows")
        rows = collect_rows(messages, pa.table({})).slice(0, self._rows)
        for name in rows.column_names:
            table.add_column(name)
        for row in rows.to_pylist():
            table.add_row(*("NULL" if value is None else str(value) for value in row.values()))
        Console(file=sys.stdout).print(table)

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...
