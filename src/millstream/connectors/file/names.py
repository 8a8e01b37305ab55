"""Streams the names of a folder's files, for executors that read the files without Spark.

The names, and the log of files that were read, are those of Spark's file source, so that a job can
resume from its checkpoint with either reader.
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

from millstream.connectors.work_items import ITEM

_FILE = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)
# Spark ignores files that are older than the newest file by more than `maxFileAge`, by default 7
# days. Files must be read whatever their modification time, so the limit is practically infinite.
EVERY_FILE = {"maxFileAge": "100000000d"}
TIMESTAMP = "_timestamp"  # the system column
_READER_TYPES = (NumericType, BooleanType, BinaryType, DateType, TimestampType)


def stream_file_names(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """Returns the stream of names, with the modification time of each file as TIMESTAMP.

    `options` are Spark's and take precedence over EVERY_FILE.
    """
    given = {name.lower() for name in options}
    every = {name: value for name, value in EVERY_FILE.items() if name.lower() not in given}
    reader = spark.readStream.format("binaryFile").schema(_FILE).options(**every, **options)
    names = reader.load(_pattern(path))
    return names.select(ITEM, F.col("modificationTime").alias(TIMESTAMP))


def _pattern(path: str) -> str:
    """Returns a glob pattern for a single file: Spark streams only folders and patterns."""
    is_file = "://" not in path and Path(path.removeprefix("file:")).is_file()
    plain = path[-1:].isalnum() and not any(each in path for each in "*?[]{}\\")
    return f"{path[:-1]}[{path[-1]}]" if is_file and plain else path


def find_first_file(base: Path) -> str | None:
    """Returns one of the current files."""
    for each in [base] if base.is_file() else base.rglob("*"):
        if not each.name.startswith(("_", ".")) and each.is_file():
            return str(each)
    return None


def to_reader_type(kind: DataType) -> pa.DataType | None:
    """Returns the type in which executors read a column; None if only Spark can read it."""
    supported = isinstance(kind, _READER_TYPES) or kind == StringType()
    return to_arrow_type(kind, timezone="UTC") if supported else None
