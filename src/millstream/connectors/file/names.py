"""The names of a folder's files as a stream of Spark's, for workers that read the files themselves.

Names, and the log of what was read, are those of Spark's file source: a checkpoint goes on with
either reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
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
# Spark ignores files that are older than the newest one by more than `maxFileAge`, 7 days unless it
# is set. A file must be read whatever its modification time, so this is longer than any two files
# can be apart.
EVERY_FILE = {"maxFileAge": "100000000d"}
_READ_HERE = (NumericType, BooleanType, BinaryType, DateType, TimestampType)


class _Union(AccumulatorParam[set[str]]):
    def zero(self, value: set[str]) -> set[str]:  # noqa: ARG002
        return set()

    def addInPlace(self, value1: set[str], value2: set[str]) -> set[str]:  # noqa: N802
        return value1 | value2


@dataclass(frozen=True, slots=True)
class ReportedFiles:
    """The names of files that executors receive, reported to the driver at the end of a task. A
    retried task reports the same names."""

    names: Accumulator[set[str]]

    @classmethod
    def of(cls, spark: SparkSession) -> ReportedFiles:
        return cls(spark.sparkContext.accumulator(set(), _Union()))

    def add(self, name: str) -> None:
        """Report a name; on an executor."""
        self.names.add({name})

    def take(self) -> set[str]:
        """The names since the last call; on the driver."""
        found = self.names.value
        self.names.value = set()
        return found


def file_names(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """The stream of names; `options` are Spark's, and take precedence over EVERY_FILE."""
    given = {name.lower() for name in options}
    every = {name: value for name, value in EVERY_FILE.items() if name.lower() not in given}
    reader = spark.readStream.format("binaryFile").schema(_FILE).options(**every, **options)
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
