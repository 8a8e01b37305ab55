"""Finds streams that only read files, so that a packer can read the files itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from millstream.connectors.dead_letters import Rejection
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.file.names import find_first_file, stream_file_names, to_reader_type
from millstream.connectors.file.options import arrow_type
from millstream.connectors.file.parquet_files import ParquetFiles
from millstream.connectors.file.values import Column
from millstream.connectors.paths import to_local_path, value_folder
from millstream.connectors.work_items import Reader
from millstream.engine.runtime.jvm import parquet_options
from millstream.errors import RunError

# Options of Spark that determine which files are read and when, not how.
_OPTIONS = {
    "path",
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "maxfileage",
    "filenameonly",
}
# Settings under which Spark reads files differently from a packer.
_SETTINGS = (
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
)


@dataclass(frozen=True, slots=True)
class FileStream:
    """A stream of file names.

    Attributes:
        names: The names, one per row.
        reader: Reads the files.
        types: The types of the columns.
        sample: A file that exists now, to estimate sizes.
        item_columns: The columns that are sent with a name, the same for all rows of its file.
    """

    names: DataFrame
    reader: Reader
    types: Mapping[str, DataType]
    sample: str | None
    item_columns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SparkParquetReader:
    """Reads the files of a DataFrame as Spark does. Raises an error for a malformed file, because a
    DataFrame has no dead-letter queue."""

    source: str
    files: ParquetFiles
    min_part_bytes: ClassVar[int] = ParquetFiles.min_part_bytes

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        return self.files.size_of(path, wanted)

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        if folder := value_folder(to_local_path(path), self.files.base, wanted):
            raise self._error(
                f"{to_local_path(path)} is in {folder}, a folder with a column's value."
            )
        read = tuple(column for column in self.files.columns if column.name in wanted)
        for batch in replace(self.files, columns=read).read(path, wanted, part, parts):
            *columns, bad = batch.columns
            if bad.null_count < len(bad):
                raise self._error(str(Rejection.decode(bad.drop_null()[0].as_py())))
            yield pa.RecordBatch.from_arrays(columns, [*wanted])

    def _error(self, cause: str) -> RunError:
        return RunError(
            "MS-RUN-PARQUET",
            f"source {self.source}: {cause}",
            fix="Let Spark read the files: .option('reader', 'spark') on Spark's reader.",
        )


@dataclass(slots=True)
class FileStreams:
    """The streams of file names of a query. A stream that is read twice stays one source of
    Spark."""

    spark: SparkSession
    _known: dict[int, tuple[DeferredFrame, FileStream | None]] = field(default_factory=dict)

    def of(self, source: str, rows: DeferredFrame) -> FileStream | None:
        """Returns the files of a source whose stream only reads files, or None if Spark must read
        it."""
        if id(rows) not in self._known:
            self._known[id(rows)] = rows, self._files(source, rows)
        return self._known[id(rows)][1]

    def _files(self, source: str, rows: DeferredFrame) -> FileStream | None:
        types = rows.types
        if (stream := rows.origin) is not None:
            own = frozenset(stream.item_columns) - set(stream.schema.names)
            return FileStream(stream.items, stream.reader, types, stream.sample, own)
        options = parquet_options(rows.frame)
        if options is None or not {name.lower() for name in options} <= _OPTIONS:
            return None
        path = options.pop("path", "")
        base = Path(to_local_path(path)) if path.startswith("file:") else Path(path).absolute()
        if not self._is_readable(base):
            return None
        names = stream_file_names(self.spark, path, options)
        columns = tuple(
            Column(name, arrow_type(kind), kind.simpleString().upper())
            for name, kind in types.items()
            if to_reader_type(kind) is not None
        )
        reader = SparkParquetReader(source, ParquetFiles(str(base), columns, any_file=True))
        return FileStream(names, reader, types, find_first_file(base))

    def _is_readable(self, base: Path) -> bool:
        """Whether workers can read the folder, and no subfolder is the value of a partition
        column."""
        if not (self.spark.sparkContext.master or "").startswith("local"):
            return False
        if not base.is_dir() or any("=" in each.name for each in base.iterdir() if each.is_dir()):
            return False
        return not any(self.spark.conf.get(name) == "true" for name in _SETTINGS)
