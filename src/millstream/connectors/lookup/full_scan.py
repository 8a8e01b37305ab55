"""Reads a whole database table as a reference table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import read_whole
from millstream.connectors.paths import resolve
from millstream.plan.nodes import Broadcast, ReferenceTable


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    table: ReferenceTable
    base: Path

    def read(self) -> pa.Table:
        table = self.table
        assert isinstance(table.access, Broadcast)
        names = tuple(column.name for column in table.columns)
        ddl = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
        schema = to_arrow_schema(cast("StructType", StructType.fromDDL(ddl)), timezone="UTC")
        keys = table.primary_key or names[:1]
        options = tuple(
            (name, resolve(value, self.base) if name in ("path", "password.file") else value)
            for name, value in table.options
        )
        spec = LookupSpec(table.name, table.connector, options, keys, names, schema)
        return read_whole(spec, table.access.max_rows + 1).select(list(names))

    def digest(self) -> str:
        return ""


def open_table(spark: SparkSession, table: ReferenceTable, base: Path) -> DatabaseTable:  # noqa: ARG001
    return DatabaseTable(table, base)
