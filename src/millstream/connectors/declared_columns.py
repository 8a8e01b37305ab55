"""Converts declared columns to a Spark schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from millstream.plan.nodes import Column

# Types that need no call of Spark's parser, which is slow in a new JVM.
_PLAIN: dict[str, DataType] = {
    "BIGINT": LongType(),
    "BINARY": BinaryType(),
    "BOOLEAN": BooleanType(),
    "DATE": DateType(),
    "DOUBLE": DoubleType(),
    "FLOAT": FloatType(),
    "INT": IntegerType(),
    "SMALLINT": ShortType(),
    "STRING": StringType(),
    "TINYINT": ByteType(),
}


def to_spark_schema(spark: SparkSession, columns: Iterable[Column]) -> StructType:
    known = dict(_PLAIN)
    if spark.conf.get("spark.sql.timestampType") == "TIMESTAMP_LTZ":
        known["TIMESTAMP"] = TimestampType()
    return StructType(
        [
            StructField(each.name, known.get((each.type or "").upper()) or _parsed(each))
            for each in columns
        ]
    )


def _parsed(column: Column) -> DataType:
    schema = cast("StructType", StructType.fromDDL(f"it {column.type}"))
    return schema["it"].dataType
