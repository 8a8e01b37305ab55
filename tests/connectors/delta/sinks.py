"""Opens Delta sinks and writes batches to them without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.connectors.delta.sink import DeltaSink
from millstream.plan.nodes import SinkDef


def sink_on(path: Path, schema: pa.Schema, **options: str) -> DeltaSink:
    """Returns a sink that is ready to write rows of a schema."""
    given = {"path": str(path)} | {name.replace("_", "."): v for name, v in options.items()}
    sink = DeltaSink.opened(SinkDef("out", "delta", tuple(given.items())), Path())
    sink._prepare(from_arrow_schema(schema))
    return sink


def table_rows(path: Path) -> list[tuple[Any, ...]]:
    """The rows of a table, as deltalake reads them."""
    table = DeltaTable(str(path))
    names = [field.name for field in table.schema().fields]
    found = pa.table(table.scan().read_all()).to_pylist()
    return [tuple(row[name] for name in names) for row in found]


def data_files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*.parquet"))
