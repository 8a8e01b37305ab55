"""Which streams are plain files that a packer can read itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from millstream.connectors.csv_stream import CsvStream
from millstream.connectors.file_names import file_names, first_file
from millstream.connectors.paths import local
from millstream.connectors.rows import Rows
from millstream.spark.parquet import ParquetFiles
from millstream.spark.scan import Reader

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
    """The names of a stream's files, as a stream; who reads them, the types of their columns, and
    one of those that are there now."""

    names: DataFrame
    reader: Reader
    types: Mapping[str, DataType]
    sample: str | None


@dataclass(slots=True)
class FileStreams:
    """Streams of files' names; one that is read twice is one source of Spark's, as it was."""

    spark: SparkSession
    _known: dict[int, tuple[Rows, Files | None]] = field(default_factory=dict)

    def of(self, source: str, rows: Rows) -> Files | None:
        """The files that are all there is to a source's stream; None: only Spark can read it."""
        if id(rows) not in self._known:
            self._known[id(rows)] = rows, self._files(source, rows)
        return self._known[id(rows)][1]

    def _files(self, source: str, rows: Rows) -> Files | None:
        types = rows.types
        if isinstance(stream := rows.origin, CsvStream):
            return Files(stream.names, stream.files, types, stream.sample)
        options = _parquet_options(rows.frame)
        if options is None or not {name.lower() for name in options} <= _OPTIONS:
            return None
        path = options.pop("path", "")
        base = Path(local(path)) if path.startswith("file:") else Path(path).absolute()
        if not self._is_here(base):
            return None
        names = file_names(self.spark, path, options)
        return Files(names, ParquetFiles(source, str(base)), types, first_file(base))

    def _is_here(self, base: Path) -> bool:
        """Workers see the files of this machine, no folder of which is the value of a column."""
        if not (self.spark.sparkContext.master or "").startswith("local"):
            return False
        if not base.is_dir() or any("=" in each.name for each in base.iterdir() if each.is_dir()):
            return False
        return not any(self.spark.conf.get(name) == "true" for name in _SETTINGS)


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
