"""Opens sinks by their definition, and those that need no files: the console and none at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType
from rich.console import Console
from rich.table import Table

from millstream.connectors.arrow_writer import ArrowOpener, rows_of
from millstream.connectors.sink import BatchId, Message, Sink
from millstream.plan.nodes import SinkDef


@runtime_checkable
class Projecting(Protocol):
    """A sink that takes other columns than those of the query's result, such as lines of text."""

    def projection(self, schema: StructType, *, ansi: bool) -> dict[str, Column]:
        """The columns that Spark computes of main rows for the sink's writers. `ansi`: whether
        Spark's ANSI mode is on."""
        ...


@runtime_checkable
class ChecksColumns(Sink, Protocol):
    """A sink that rejects columns of some types before the job starts."""

    def check(self, rows: Callable[[], DataFrame]) -> None: ...


@runtime_checkable
class ChecksSideOutput(Sink, Protocol):
    """A sink that rejects columns of late rows or dead letters before the job starts."""

    def check_side_output(self, schema: pa.Schema) -> None: ...


@runtime_checkable
class WrittenBySpark(Sink, Protocol):
    """A sink that keeps no rows, so that Spark can write to it without a batch function."""

    spark_format: str


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
    spark_format = "noop"

    def begin(self, batch: BatchId) -> ArrowOpener:  # noqa: ARG002
        return ArrowOpener(0)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...


def open_console(sink: SinkDef, base: Path) -> ConsoleSink:  # noqa: ARG001
    return ConsoleSink(sink.name, int(sink.option("rows", "20")))


def open_noop(sink: SinkDef, base: Path) -> NoopSink:  # noqa: ARG001
    return NoopSink()
