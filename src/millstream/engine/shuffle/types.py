"""Converts values between Spark and packets without loss.

In packets, a timestamp is its microseconds and a map its entries; every other type is the same in
Spark, Arrow and Polars. Keys and compared values of two types are cast to the type in which Spark
would compare them.
"""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.errors import PlanError

_TEMPORAL = (DateType, TimestampType, TimestampNTZType)
_COMPARABLE = (NumericType, StringType, BooleanType, BinaryType, *_TEMPORAL)


def require_supported(name: str, kind: DataType) -> None:
    """Rejects a column of a type that Arrow and Polars do not represent exactly."""
    inner = kind
    if isinstance(kind, MapType):
        require_supported(name, kind.keyType)
        inner = kind.valueType
    while isinstance(inner, ArrayType):
        inner = inner.elementType
    if isinstance(inner, StructType):
        for field in inner:
            require_supported(f"{name}.{field.name}", field.dataType)
    elif not isinstance(inner, _COMPARABLE):
        raise PlanError(
            "MS-PLAN-COLUMN-TYPE",
            f"column {name} is of type {kind.simpleString()}, which the columnar engine does "
            "not support.",
            fix="Leave the column out of the query, cast it to STRING, or set 'engine' = 'native'.",
        )


def to_packet(column: Column, kind: DataType) -> Column:
    if isinstance(kind, TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, MapType):
        return F.map_entries(column)
    return column


def from_packet(name: str, kind: DataType) -> Column:
    column = F.col(name)
    if isinstance(kind, TimestampType):
        return F.timestamp_micros(column)
    if isinstance(kind, MapType):
        return F.map_from_entries(column)
    return column


def comparable(column: Column, kind: DataType, common: DataType) -> Column:
    """Returns the column in the common type, with one zero for floats, as Spark compares it."""
    cast = column if kind == common else column.cast(common)
    if isinstance(common, FloatType | DoubleType):
        cast = cast + F.lit(0.0).cast(common)
    return to_packet(cast, common)


def is_compared_unchanged(kind: DataType) -> bool:
    """Whether values of this type are compared as they are in packets."""
    return not isinstance(kind, FloatType | DoubleType | MapType)


def common_type(spark: SparkSession, left: DataType, right: DataType, what: str) -> DataType:
    """Returns the type in which Spark compares two types. Rejects types that are not compared
    exactly."""
    for kind in (left, right):
        if not isinstance(kind, _COMPARABLE) or _collated(kind):
            raise PlanError(
                "MS-PLAN-KEY-TYPE",
                f"{what} compares values of type {kind.simpleString()}, which the columnar engine "
                "does not.",
                fix="Compare one of their fields, cast them to STRING, or set 'engine' = 'native'.",
            )
    if left == right:
        return left
    for family in ((NumericType,), _TEMPORAL):
        if isinstance(left, family) and isinstance(right, family):
            both = (
                f"array(CAST(NULL AS {left.simpleString()}), CAST(NULL AS {right.simpleString()}))"
            )
            array = spark.sql(f"SELECT {both} AS both").schema["both"].dataType
            assert isinstance(array, ArrayType)
            return array.elementType
    raise PlanError(
        "MS-PLAN-KEY-TYPE",
        f"{what} compares {left.simpleString()} with {right.simpleString()}.",
        fix="CAST one side to the type of the other.",
    )


def _collated(kind: DataType) -> bool:
    return isinstance(kind, StringType) and kind != StringType()


def is_own_hash(kind: DataType) -> bool:
    """Whether a key of this type is a 64-bit integer in packets, so that it is its own hash."""
    return isinstance(kind, IntegralType | TimestampType) and not isinstance(kind, DecimalType)


def to_hash(column: Column) -> Column:
    return column.cast(LongType())
