"""Errors of `millstream run` for what only tests and Python provide."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from pyspark.sql import SparkSession

from millstream.errors import PlanError
from millstream.plan.nodes import Reference, SinkDef, Source


def open_source(
    spark: SparkSession,  # noqa: ARG001
    source: Source,
    base: Path,  # noqa: ARG001
    columns: Collection[str],  # noqa: ARG001
) -> NoReturn:
    raise PlanError(
        "MS-PLAN-NOT-YET",
        f"the source {source.name} cannot be run: nothing here reads '{source.connector}'.",
        place=source.place,
    )


def open_sink(sink: SinkDef, base: Path) -> NoReturn:  # noqa: ARG001
    raise PlanError(
        "MS-PLAN-NO-SINK",
        f"rows of the sink {sink.name} would go nowhere: nothing here writes to "
        f"'{sink.connector}'.",
        fix="Give it a 'connector': 'file' with a 'path', or 'console' to look at rows.",
        place=sink.place,
    )


class UnconnectedTable:
    """A table whose rows nothing provides."""

    def __init__(self, table: Reference) -> None:
        self._table = table

    def read(self) -> NoReturn:
        raise PlanError(
            "MS-PLAN-NO-TABLE",
            f"the table {self._table.name} has no rows: nothing here fills a table in memory.",
            fix="Give it a 'connector': 'file', 'postgresql' or 'sqlite'.",
            place=self._table.place,
        )

    def digest(self) -> str:
        return ""


def open_table(spark: SparkSession, table: Reference, base: Path) -> UnconnectedTable:  # noqa: ARG001
    return UnconnectedTable(table)
