"""Where rows go. A sink writes a micro-batch once: written again, a batch replaces itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from millstream.plan.nodes import SinkDef


class Sink(Protocol):
    def write(self, rows: DataFrame, batch: int) -> int | None:
        """Write a micro-batch, running its plan exactly once; how many rows, if that is known."""
        ...


@runtime_checkable
class ChecksColumns(Sink, Protocol):
    """A sink that rejects columns of some types before the job starts."""

    def check(self, rows: Callable[[], DataFrame]) -> None: ...


@runtime_checkable
class ChecksBeforeCommit(Sink, Protocol):
    """A sink that calls a function between writing a batch and making it visible."""

    checks_before_commit: bool

    def write(
        self, rows: DataFrame, batch: int, before_commit: Callable[[], None] | None = None
    ) -> int | None: ...


@runtime_checkable
class WrittenBySpark(Sink, Protocol):
    """A sink that keeps no rows, so that Spark can write to it without a batch function."""

    spark_format: str


class ConsoleSink:
    """Prints each batch; to look at, not to keep."""

    def __init__(self, name: str, rows: int = 20) -> None:
        self._name = name
        self._rows = rows

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table = rows.toArrow()
        if table.num_rows:
            shown = Table(title=f"{self._name}, batch {batch}: {table.num_rows} rows")
            for name in table.column_names:
                shown.add_column(name)
            for row in table.slice(0, self._rows).to_pylist():
                shown.add_row(*("NULL" if value is None else str(value) for value in row.values()))
            Console(file=sys.stdout).print(shown)
        return int(table.num_rows)


class NoopSink:
    """Runs the plan and keeps nothing; for measurements."""

    spark_format = "noop"

    def write(self, rows: DataFrame, batch: int) -> int | None:  # noqa: ARG002
        rows.write.format("noop").mode("overwrite").save()
        return None


def open_console(sink: SinkDef, base: Path) -> ConsoleSink:  # noqa: ARG001
    return ConsoleSink(sink.name, int(sink.option("rows", "20")))


def open_noop(sink: SinkDef, base: Path) -> NoopSink:  # noqa: ARG001
    return NoopSink()
