"""The names of a folder's files as a stream of Spark's, for workers that read the files themselves.

Names, and the log of what was read, are those of Spark's file source: a checkpoint goes on with
either reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
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
# Spark ignores files that are older than the newest one by more than `maxFileAge`, 7 days unless it
# is set. A file must be read whatever its modification time, so this is longer than any two files
# can be apart.
EVERY_FILE = {"maxFileAge": "100000000d"}
_READ_HERE = (NumericType, BooleanType, BinaryType, DateType, TimestampType)


def file_names(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """The stream of names; `options` are Spark's, and take precedence over EVERY_FILE."""
    given = {name.lower() for name in options}
    every = {name: value for name, value in EVERY_FILE.items() if name.lower() not in given}
    reader = spark.readStream.format("binaryFile").schema(_FILE).options(**every, **options)
    return reader.load(_pattern(path)).select(ITEM)


def _pattern(path: str) -> str:
    """Returns a pattern for a single file: Spark streams folders and patterns only."""
    is_file = "://" not in path and Path(path.removeprefix("file:")).is_file()
    plain = path[-1:].isalnum() and not any(each in path for each in "*?[]{}\\")
    return f"{path[:-1]}[{path[-1]}]" if is_file and plain else path


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
