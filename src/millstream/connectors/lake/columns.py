"""Maps the columns of a query to those of a table."""

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

from millstream.connectors.file.parquet_types import reads_as
from millstream.connectors.lake.table import TableName
from millstream.errors import PlanError
from millstream.suggestions import nearest, same

_PLAIN = (NumericType, BooleanType, BinaryType, DateType, TimestampType, TimestampNTZType)
_TEXTS = (StringType, CharType, VarcharType)


def to_columns(sink: str, schema: StructType) -> pa.Schema:
    """Returns the columns of a query with the types of table formats; raises PlanError if one has
    no such type."""
    fields = []
    for each in schema:
        if not _is_storable(each.dataType):
            raise PlanError(
                "MS-PLAN-SINK-TYPE",
                f"column {each.name} of the sink {sink} has the type "
                f"{each.dataType.simpleString().upper()}, which Delta and "
                "Iceberg tables cannot store.",
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


def match_columns(name: TableName, columns: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Returns the columns of a query as the table spells and types them; raises RunError if the
    table has no such column, or cannot store every value."""
    fields = []
    for each in columns:
        found = spelling(name, each.name, table)
        if not _fits(each.type, found.type):
            raise name.error(
                f"column {found.name} of {name.name} is {found.type}, which cannot store every "
                f"value of the query's column, {each.type}",
                "CAST it in the query, or write to another table.",
            )
        fields.append(found)
    written = {each.name for each in fields}
    for each in table:
        if each.name not in written and not each.nullable:
            raise name.error(
                f"column {each.name} of {name.name} is NOT NULL, and the query does not select it",
                "Select it, or write to another table.",
            )
    return pa.schema(fields)


def _fits(kind: pa.DataType, stored: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(stored):
        return (kind.tz is None) == (stored.tz is None)
    if _is_binary(kind) or _is_binary(stored):
        return _is_binary(kind) and _is_binary(stored)
    return reads_as(kind, stored)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def spelling(table: TableName, name: str, known: pa.Schema) -> pa.Field:
    """Returns the column of a table by its name in any letter case."""
    found = [each for each in known if each.name == name]
    found = found or [each for each in known if same(each.name, name)]
    if len(found) != 1:
        add = f"dd it to the table (docs/lake-tables.md, Adding columns), or exclude {name}."
        near = nearest(name, known.names) if known.names else ""
        raise table.error(
            f"the table {table.name} has no column {name}",
            f"{near} Otherwise, a{add}" if near.startswith("Did you mean") else f"A{add}",
        )
    return found[0]


def check_declared(table: TableName, declared: StructType, known: pa.Schema) -> None:
    """Rejects declared columns that a table lacks, or that cannot be read as they are declared."""
    for each in declared:
        found = spelling(table, each.name, known)
        if not reads_as(found.type, to_arrow_type(each.dataType, timezone="UTC")):
            raise table.error(
                f"column {found.name} of {table.name} is {found.type}, which cannot be read as "
                f"{each.dataType.simpleString().upper()}",
                "Declare the column with the type of the table.",
            )
