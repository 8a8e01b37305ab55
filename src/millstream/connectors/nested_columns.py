"""Columns that sinks of databases take of a query: nested values are JSON."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType


def is_nested(kind: DataType) -> bool:
    return isinstance(kind, (ArrayType, MapType, StructType))


def with_json(schema: StructType) -> dict[str, Column]:
    """Returns the columns of a query, with nested values as JSON."""
    options = {"ignoreNullFields": "false"}
    return {
        each.name: F.to_json(column, options) if is_nested(each.dataType) else column
        for each in schema
        for column in [F.col("`" + each.name.replace("`", "``") + "`")]
    }
