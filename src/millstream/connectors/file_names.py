"""The names of a folder's files as a stream of Spark's, for workers that read the files themselves.

Names, and the log of what was read, are those of Spark's file source: a checkpoint goes on with
either reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

PATH = "path"
PART = "_ms_part"
MOST_PARTS = 8  # of a file, each read by a task
_FILE = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)
_READ_HERE = (NumericType, BooleanType, BinaryType, DateType, TimestampType)


def file_names(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    reader = spark.readStream.format("binaryFile").schema(_FILE).options(**options)
    return reader.load(path).select(PATH)


def in_parts(names: DataFrame, parts: int) -> DataFrame:
    """Every name once a part; the parts go to tasks of their own, in their order.

    A union of streams, one a part, would do the same, but Spark would take it for as many sources,
    and a job whose files grow could not go on from its checkpoint.
    """
    if parts < 2:
        return names
    numbers = F.array(*map(F.lit, range(parts)))
    return names.select("*", F.explode(numbers).alias(PART)).repartitionById(parts, PART)


def first_file(base: Path) -> str | None:
    """One of the files that are there now."""
    for each in [base] if base.is_file() else base.rglob("*"):
        if not each.name.startswith(("_", ".")) and each.is_file():
            return str(each)
    return None


def read_type(kind: DataType) -> pa.DataType | None:
    """The type in which a worker reads a column; None: only Spark can."""
    plain = isinstance(kind, _READ_HERE) or kind == StringType()
    return to_arrow_type(kind, timezone="UTC") if plain else None
