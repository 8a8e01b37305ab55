"""File source: Spark streams the names of files, executors read them.

    names of files ──▶ mapInArrow: reads ──▶ rows

If an operator's packer can read the files itself, it reads the names (`FileStream`), and no row
passes through Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.declared import schema_of
from millstream.connectors.file.names import (
    MOST_PARTS,
    PART,
    PATH,
    ReportedFiles,
    file_names,
    first_file,
    in_parts,
)
from millstream.connectors.file.options import Files, files_of
from millstream.connectors.rows import Rows
from millstream.plan.nodes import Source

_TIME = "_ms_time"  # the processing time that is sent with a name


@dataclass(frozen=True, slots=True)
class FileStream:
    """The stream of a source's file names, the reader, and one of the current files."""

    names: DataFrame
    files: Files
    schema: StructType
    sample: str | None
    reported: ReportedFiles

    def rows(self, columns: Collection[str]) -> Rows:
        """Returns the rows of all files, with the given columns and BAD."""
        fields = [field for field in self.schema if field.name in columns]
        schema = StructType([*fields, StructField(BAD, StringType())])
        return Rows(lambda: self._frame(schema), schema, origin=self)

    def _frame(self, schema: StructType) -> DataFrame:
        """Reads large files in parts, with all cores."""
        cores = self.names.sparkSession.sparkContext.defaultParallelism
        wanted = {each.name: each.type for each in self.files.columns if each.name in schema.names}
        size = self.files.size_of(self.sample, wanted) if self.sample else 0
        parts = max(1, min(cores, MOST_PARTS, size // self.files.least_part))
        now = F.unix_micros(F.current_timestamp()).alias(_TIME)
        names = in_parts(self.names.select(PATH, now), parts)
        return names.mapInArrow(_reading(self.files, wanted, parts, self.reported), schema)


def read_files(spark: SparkSession, source: Source, path: str, columns: Collection[str]) -> Rows:
    """Returns the rows of a file source whose format executors read."""
    schema = schema_of(spark, source.columns)
    files = files_of(source, path, schema)
    limit = source.option("max.files.per.batch")
    # Spark skips files that are deleted before the batch runs; `run.missing_files` finds them.
    options = {"ignoreMissingFiles": "true"}
    names = file_names(spark, path, options | ({"maxFilesPerTrigger": limit} if limit else {}))
    sample = (
        None if "://" in path and not path.startswith("file:") else first_file(Path(files.base))
    )
    return FileStream(names, files, schema, sample, ReportedFiles.of(spark)).rows(columns)


def _reading(
    files: Files, wanted: dict[str, pa.DataType], parts: int, reported: ReportedFiles
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for sent in batch.to_pylist():
                reported.add(sent[PATH])
                for rows in files.read(sent[PATH], wanted, sent.get(PART, 0), parts):
                    yield _stamped(rows, sent[_TIME])

    return read


def _stamped(rows: pa.RecordBatch, now: int) -> pa.RecordBatch:
    """Adds the processing time to rejections."""
    place = rows.schema.get_field_index(BAD)
    bad = rows.column(place)
    if bad.null_count == len(bad):
        return rows
    texts = [
        None if text is None else replace(Rejection.decoded(text), time=now).encoded()
        for text in bad.to_pylist()
    ]
    return rows.set_column(place, BAD, pa.array(texts, pa.string()))
