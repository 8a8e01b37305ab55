"""Opens SQLite sinks and writes batches to them without Spark."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.connectors.sqlite.sink import SqliteSink, open_sink
from millstream.plan.nodes import SinkDef


def sink_on(path: Path, schema: pa.Schema, **options: str) -> SqliteSink:
    """Returns a sink that is ready to write rows of a schema."""
    given = {"path": str(path), "table": "results"}
    given |= {name.replace("_", "."): value for name, value in options.items()}
    sink = open_sink(SinkDef("out", "sqlite", tuple(given.items())), Path())
    sink._prepare(from_arrow_schema(schema))
    return sink


def execute(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements; returns the rows of the last."""
    found: list[tuple[Any, ...]] = []
    with closing(sqlite3.connect(path)) as connection, connection:
        for each in statements:
            found = connection.execute(each).fetchall()
    return found


def table_rows(path: Path) -> list[tuple[Any, ...]]:
    return execute(path, "SELECT * FROM results ORDER BY 1, 2")
