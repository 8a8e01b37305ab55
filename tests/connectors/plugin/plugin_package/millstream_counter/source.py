"""The source: Spark streams the names of files, executors make the numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.names import stream_file_names
from millstream.connectors.paths import resolve, to_local_path
from millstream.connectors.work_items import WorkStream
from millstream.plan.nodes import Source


@dataclass(frozen=True, slots=True)
class Counter:
    step: int
    min_part_bytes: ClassVar[int] = 1 << 40

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        return 0

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        end = int(Path(to_local_path(path)).read_text(encoding="utf-8"))
        numbers = pa.array(range(0, end, self.step), pa.int64())
        yield pa.RecordBatch.from_pydict({name: numbers.cast(wanted[name]) for name in wanted})


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    items = stream_file_names(spark, resolve(source.option("path"), base), {})
    schema = to_spark_schema(spark, source.columns)
    types = {column.name: pa.int64() for column in source.columns}
    return WorkStream(items, Counter(int(source.option("step", "1"))), schema, types)
