"""Where rows go. A sink writes a micro-batch once: written again, a batch replaces itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from millstream.connectors.file.csv_lines import CsvLines
from millstream.connectors.file.sink import FileSink
from millstream.connectors.memory import MemorySink
from millstream.connectors.paths import resolve
from millstream.plan.declare import partition_columns
from millstream.plan.file_sinks import csv_dialect
from millstream.plan.nodes import SinkDef


class Sink(Protocol):
    def write(self, rows: DataFrame, batch: int) -> int | None:
        """Write a micro-batch, running its plan exactly once; how many rows, if that is known."""
        ...


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

    def write(self, rows: DataFrame, batch: int) -> int | None:  # noqa: ARG002
        rows.write.format("noop").mode("overwrite").save()
        return None


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
