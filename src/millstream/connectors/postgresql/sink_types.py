"""Maps the types of a query to PostgreSQL types, and to those that a column may have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.connectors.postgresql.columns import SPARK
from millstream.connectors.postgresql.describe import Column

# Spark's type: the type of a created column, and the names of other types that store every value.
_TYPES: dict[type[DataType], tuple[str, tuple[str, ...]]] = {
    BooleanType: ("boolean", ("bool",)),
    ByteType: ("smallint", ("int2", "int4", "int8", "numeric")),
    ShortType: ("smallint", ("int2", "int4", "int8", "numeric")),
    IntegerType: ("integer", ("int4", "int8", "numeric")),
    LongType: ("bigint", ("int8", "numeric")),
    FloatType: ("real", ("float4", "float8")),
    DoubleType: ("double precision", ("float8",)),
    BinaryType: ("bytea", ("bytea",)),
    DateType: ("date", ("date",)),
    TimestampType: ("timestamp with time zone", ("timestamptz",)),
    TimestampNTZType: ("timestamp without time zone", ("timestamp",)),
}
_NESTED = (ArrayType, MapType, StructType)
_JSON = ("jsonb", "json", "text", "varchar")
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")


@dataclass(frozen=True, slots=True)
class SinkColumn:
    """A column that a sink writes."""

    name: str
    kind: DataType

    @property
    def database_type(self) -> str | None:
        """The type of a created column; None if PostgreSQL has no such type."""
        if isinstance(self.kind, StringType):
            return "text"
        if isinstance(self.kind, DecimalType):
            return f"numeric({self.kind.precision},{self.kind.scale})"
        if is_nested(self.kind):
            return "jsonb"
        found = _TYPES.get(type(self.kind))
        return found[0] if found else None

    def fits(self, column: Column) -> bool:
        """Whether every value can be stored in a column of the database; a string may be too long
        for it, or not be a value of its type."""
        if isinstance(self.kind, StringType):
            return column.type not in SPARK
        if isinstance(self.kind, DecimalType):
            return column.type == "numeric" and _has_room(self.kind, column.text)
        if is_nested(self.kind):
            return column.type in _JSON
        _, accepted = _TYPES[type(self.kind)]
        if column.type == "numeric":
            return column.type in accepted and column.text == "numeric"
        return column.type in accepted


def is_nested(kind: DataType) -> bool:
    """Whether values of a type are stored as JSON."""
    return isinstance(kind, _NESTED)


def _has_room(kind: DecimalType, text: str) -> bool:
    limits = _NUMERIC.fullmatch(text)
    if limits is None:
        return text == "numeric"
    precision, scale = int(limits[1]), int(limits[2])
    return scale >= kind.scale and precision - scale >= kind.precision - kind.scale
