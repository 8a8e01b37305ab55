"""A source of CSV files that workers read with Arrow: `'reader' = 'arrow'`.

    names of files ──▶ mapInArrow: reads ──▶ rows

Where an operator's packer can read the files itself, it asks for the names (`CsvStream`), and no
row goes through Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from millstream.connectors.csv_files import CsvFiles
from millstream.connectors.declared import schema_of
from millstream.connectors.file_names import (
    MOST_PARTS,
    PART,
    PATH,
    file_names,
    first_file,
    in_parts,
    read_type,
)
from millstream.connectors.malformed import BAD
from millstream.connectors.paths import local
from millstream.connectors.rows import Rows
from millstream.errors import PropertyError
from millstream.plan.nodes import Source

_TAB = "\\t"


@dataclass(frozen=True, slots=True)
class CsvStream:
    """The names of a source's files, how they are read, and one of those that are there now."""

    names: DataFrame
    files: CsvFiles
    schema: StructType
    sample: str | None

    def rows(self, columns: Collection[str]) -> Rows:
        """The rows of all files, with some of their columns, and the column BAD."""
        fields = [field for field in self.schema if field.name in columns]
        schema = StructType([*fields, StructField(BAD, StringType())])
        return Rows(lambda: self._frame(schema), schema, origin=self)

    def _frame(self, schema: StructType) -> DataFrame:
        """Read by all cores."""
        cores = self.names.sparkSession.sparkContext.defaultParallelism
        size = self.files.size_of(self.sample, {}) if self.sample else 0
        parts = max(1, min(cores, MOST_PARTS, size // self.files.least_part))
        reading = _reading(self.files, schema, parts)
        return in_parts(self.names, parts).mapInArrow(reading, schema)


def read_csv(spark: SparkSession, source: Source, path: str, columns: Collection[str]) -> Rows:
    schema = schema_of(spark, source.columns)
    files = _files(source, path, schema)
    limit = source.option("max.files.per.batch")
    names = file_names(spark, path, {"maxFilesPerTrigger": limit} if limit else {})
    return CsvStream(names, files, schema, first_file(Path(files.base))).rows(columns)


def _files(source: Source, path: str, schema: StructType) -> CsvFiles:
    if "://" in path and not path.startswith("file:"):
        raise _refused(source, f"cannot read {path}: it opens files of the machine it runs on")
    if source.option("timestamp.format"):
        raise _refused(source, "reads times in ISO 8601, and knows no 'timestamp.format'")
    delimiter = source.option("delimiter", ",")
    delimiter = "\t" if delimiter == _TAB else delimiter
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise _refused(source, f"cannot take {delimiter!r} for a 'delimiter'")
    columns = []
    for field in schema:
        kind = read_type(field.dataType)
        if kind is None:
            what = field.dataType.simpleString()
            raise _refused(source, f"cannot read column {field.name}, of the type {what}")
        columns.append((field.name, kind))
    base = local(path) if path.startswith("file:") else path
    header = source.option("header", "true") == "true"
    return CsvFiles(source.name, base, tuple(columns), header, delimiter)


def _refused(source: Source, why: str) -> PropertyError:
    return PropertyError(
        "MS-PROP-READER",
        f"the reader 'arrow' of source {source.name} {why}.",
        fix="Leave 'reader' out: Spark reads the files then.",
        place=source.place,
    )


def _reading(
    files: CsvFiles, schema: StructType, parts: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    asked = {name: kind for name, kind in files.columns if name in schema.names}

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for sent in batch.to_pylist():
                yield from files.read(sent[PATH], asked, sent.get(PART, 0), parts)

    return read
