"""Maps the columns of a query to those of a Delta table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from millstream.connectors.delta.failures import table_error
from millstream.connectors.file.parquet_types import reads_as
from millstream.errors import PlanError
from millstream.suggestions import nearest, same

_PLAIN = (NumericType, BooleanType, BinaryType, DateType, TimestampType, TimestampNTZType)
_TEXTS = (StringType, CharType, VarcharType)


def to_columns(sink: str, schema: StructType) -> pa.Schema:
    """Returns the columns of a query with types of Delta; raises PlanError if it has no such."""
    fields = []
    for each in schema:
        if not _is_storable(each.dataType):
            raise PlanError(
                "MS-PLAN-SINK-TYPE",
                f"column {each.name} of the sink {sink} has the type "
                f"{each.dataType.simpleString().upper()}, which Delta tables do not have.",
                fix="CAST it to STRING, or remove the column.",
            )
        kind = StringType() if isinstance(each.dataType, _TEXTS) else each.dataType
        fields.append(pa.field(each.name, to_arrow_type(kind, timezone="UTC")))
    return pa.schema(fields)


def _is_storable(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _is_storable(kind.elementType)
    if isinstance(kind, MapType):
        return _is_storable(kind.keyType) and _is_storable(kind.valueType)
    if isinstance(kind, StructType):
        return all(_is_storable(field.dataType) for field in kind)
    return isinstance(kind, (*_PLAIN, *_TEXTS))


def check_partition_types(sink: str, columns: pa.Schema, partitions: Sequence[str]) -> None:
    """Rejects partition columns whose values have no exact text."""
    for name in partitions:
        kind = columns.field(name).type
        if pa.types.is_floating(kind) or pa.types.is_binary(kind) or pa.types.is_nested(kind):
            raise PlanError(
                "MS-PLAN-SINK-TYPE",
                f"the sink {sink} is partitioned by {name}, which is {kind}: partition columns "
                "are texts, integers, decimals, booleans, dates or times.",
                fix="CAST it, or choose another column.",
            )


def match_columns(owner: str, path: str, columns: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Returns the columns of a query as the table spells and types them; raises RunError if the
    table has no such column, or cannot store every value."""
    fields = []
    for each in columns:
        found = spelling(owner, path, each.name, table)
        if not _fits(each.type, found.type):
            raise table_error(
                owner,
                f"column {found.name} of {path} is {found.type}, which cannot store every value "
                f"of the query's column, {each.type}",
                "CAST it in the query, or write to another table.",
            )
        fields.append(found)
    written = {each.name for each in fields}
    for each in table:
        if each.name not in written and not each.nullable:
            raise table_error(
                owner,
                f"column {each.name} of {path} is NOT NULL, and the query does not select it",
                "Select it, or write to another table.",
            )
    return pa.schema(fields)


def _fits(kind: pa.DataType, stored: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(stored):
        return (kind.tz is None) == (stored.tz is None)
    if pa.types.is_binary(kind) or pa.types.is_binary(stored):
        return bool(kind == stored)
    return reads_as(kind, stored)


def spelling(owner: str, path: str, name: str, table: pa.Schema) -> pa.Field:
    found = [each for each in table if each.name == name]
    found = found or [each for each in table if same(each.name, name)]
    if len(found) != 1:
        raise table_error(
            owner,
            f"the table {path} has no column {name}",
            nearest(name, table.names) or f"Add it to the table, or exclude {name}.",
        )
    return found[0]
