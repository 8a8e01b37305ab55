"""Opens sinks by their definition, and those that need no files: the console and none at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.types import StructType
from rich.console import Console
from rich.table import Table

from millstream.connectors.arrow_writer import ArrowOpener, rows_of
from millstream.connectors.csv_lines import CsvLines
from millstream.connectors.files import FileSink
from millstream.connectors.memory import MemorySink
from millstream.connectors.paths import resolve
from millstream.connectors.sink import BatchId, Message, Sink
from millstream.plan.declare import partition_columns
from millstream.plan.file_sinks import csv_dialect
from millstream.plan.nodes import SinkDef


@runtime_checkable
class Projecting(Protocol):
    """A sink that takes other columns than those of the query's result, such as lines of text."""

    def projection(self, schema: StructType, *, ansi: bool) -> dict[str, Column]:
        """The columns that Spark computes of main rows for the sink's writers. `ansi`: whether
        Spark's ANSI mode is on."""
        ...


class ConsoleSink:
    """Prints each batch; to look at, not to keep."""

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
        shown = Table(title=f"{self._name}, batch {batch.batch}: {count} rows")
        rows = rows_of(messages, pa.table({})).slice(0, self._rows)
        for name in rows.column_names:
            shown.add_column(name)
        for row in rows.to_pylist():
            shown.add_row(*("NULL" if value is None else str(value) for value in row.values()))
        Console(file=sys.stdout).print(shown)

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...


class NoopSink:
    """Runs the plan and keeps nothing; for measurements."""

    stable_tasks: ClassVar[bool] = False

    def begin(self, batch: BatchId) -> ArrowOpener:  # noqa: ARG002
        return ArrowOpener(0)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...


_FILE_OPTIONS = {"compression": "compression", "timestamp.format": "timestampFormat"}


def open_sink(sink: SinkDef, base: Path) -> Sink:
    """The sink of a definition; relative paths are relative to `base`."""
    if sink.connector == "file":
        return FileSink(
            resolve(sink.option("path"), base),
            sink.option("format", "json").lower(),
            csv=CsvLines(sink.name, csv_dialect(sink), sink.option("timestamp.format")),
            partition_by=partition_columns(sink),
            options={
                spark_name: sink.option(name)
                for name, spark_name in _FILE_OPTIONS.items()
                if sink.option(name)
            },
        )
    if sink.connector == "console":
        return ConsoleSink(sink.name, int(sink.option("rows", "20")))
    if sink.connector == "noop":
        return NoopSink()
    return MemorySink()
