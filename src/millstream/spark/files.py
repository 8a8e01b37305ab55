"""Which streams are plain Parquet files on this machine, so that a packer can read them itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

from millstream.spark.scan import PATH, local

_FILE = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)
_READ_HERE = (NumericType, BooleanType, BinaryType, DateType, TimestampType)
# Those of Spark's that say which files are read when, not how.
_OPTIONS = {
    "path",
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "maxfileage",
    "filenameonly",
}
# Settings of a session under which Spark reads files in other ways than a packer does.
_SETTINGS = (
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
)


@dataclass(frozen=True, slots=True)
class Files:
    """The names of a stream's files, as a stream; the folder that they are in, the types of their
    columns, and one of those that are there now."""

    names: DataFrame
    base: str
    types: Mapping[str, DataType]
    sample: str | None


@dataclass(slots=True)
class FileStreams:
    """Streams of files' names; one that is read twice is one source of Spark's, as it was."""

    spark: SparkSession
    _known: dict[int, tuple[DataFrame, Files | None]] = field(default_factory=dict)

    def of(self, frame: DataFrame) -> Files | None:
        """The files that are all there is to a stream; None: only Spark can read it."""
        if id(frame) not in self._known:
            self._known[id(frame)] = frame, self._files(frame)
        return self._known[id(frame)][1]

    def _files(self, frame: DataFrame) -> Files | None:
        options = _parquet_options(frame)
        if options is None or not {name.lower() for name in options} <= _OPTIONS:
            return None
        path = options.pop("path", "")
        base = Path(local(path)) if path.startswith("file:") else Path(path).absolute()
        if not self._is_here(base):
            return None
        reader = self.spark.readStream.format("binaryFile").schema(_FILE).options(**options)
        types = {each.name: each.dataType for each in frame.schema}
        return Files(reader.load(path).select(PATH), str(base), types, _first(base))

    def _is_here(self, base: Path) -> bool:
        """Workers see the files of this machine, no folder of which is the value of a column."""
        if not (self.spark.sparkContext.master or "").startswith("local"):
            return False
        if not base.is_dir() or any("=" in each.name for each in base.iterdir() if each.is_dir()):
            return False
        return not any(self.spark.conf.get(name) == "true" for name in _SETTINGS)


def _first(base: Path) -> str | None:
    for each in base.rglob("*"):
        if not each.name.startswith(("_", ".")) and each.is_file():
            return str(each)
    return None


def read_type(kind: DataType) -> pa.DataType | None:
    """The type in which a packer reads a column; None: only Spark can."""
    plain = isinstance(kind, _READ_HERE) or kind == StringType()
    return to_arrow_type(kind, timezone="UTC") if plain else None


def _parquet_options(frame: DataFrame) -> dict[str, str] | None:
    """How Spark was told to read a stream, if it is Parquet files and nothing is done to them."""
    plan: Any = getattr(frame, "_jdf", None)
    if plan is None:  # of Spark Connect, which tells no plans
        return None
    plan = plan.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "StreamingRelation":
        return None
    source = plan.dataSource()
    if source.className() != "parquet":
        return None
    options, entries = {}, source.options().iterator()
    while entries.hasNext():
        entry = entries.next()
        options[entry.productElement(0)] = entry.productElement(1)
    return options
