"""Errors for sources, tables and sinks of the connector `memory` in `millstream run`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from pyspark.sql import SparkSession

from millstream.errors import PlanError
from millstream.plan.nodes import ReferenceTable, SinkDef, Source


def open_source(
    spark: SparkSession,  # noqa: ARG001
    source: Source,
    base: Path,  # noqa: ARG001
    columns: Collection[str],  # noqa: ARG001
) -> NoReturn:
    raise PlanError(
        "MS-PLAN-NOT-YET",
        f"the source {source.name} cannot be read: only tests and Python code provide rows for "
        f"the connector '{source.connector}'.",
        fix="Give it another 'connector', such as 'file'.",
        place=source.place,
    )


def open_sink(sink: SinkDef, base: Path) -> NoReturn:  # noqa: ARG001
    raise PlanError(
        "MS-PLAN-NO-SINK",
        f"rows of the sink {sink.name} would be lost: only tests and Python code read rows of the "
        f"connector '{sink.connector}'.",
        fix="Give it a 'connector': 'file' with a 'path', or 'console' to print rows.",
        place=sink.place,
    )


class UnconnectedTable:
    """A reference table without rows: reading it is an error."""

    def __init__(self, table: ReferenceTable) -> None:
        self._table = table

    def read(self) -> NoReturn:
        raise PlanError(
            "MS-PLAN-NO-TABLE",
            f"the table {self._table.name} has no rows: only tests and Python code provide rows "
            "for the connector 'memory'.",
            fix="Give it a 'connector': 'file', 'postgresql' or 'sqlite'.",
            place=self._table.place,
        )

    def digest(self) -> str:
        return ""


def open_table(spark: SparkSession, table: ReferenceTable, base: Path) -> UnconnectedTable:  # noqa: ARG001
    return UnconnectedTable(table)
