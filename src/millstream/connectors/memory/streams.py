"""Streams and sinks in this process, whose rows are added and read by the program."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.arrow_writer import ArrowOpener, collect_rows
from millstream.connectors.file.names import EVERY_FILE
from millstream.connectors.sink import BatchId, Message

_MILLI = 1_000_000  # nanoseconds


class MemoryStream:
    """A streaming source whose rows the program adds: each `add` is one micro-batch.

    Streams with the same number of `add` calls advance together, even if a call adds no rows.
    """

    def __init__(
        self, spark: SparkSession, schema: str | StructType, folder: Path | None = None
    ) -> None:
        read = StructType.fromDDL(schema) if isinstance(schema, str) else schema
        self.schema = cast("StructType", read)
        self._arrow = to_arrow_schema(self.schema, timezone="UTC")
        self._folder = folder or _create_temporary_folder()
        self._folder.mkdir(parents=True, exist_ok=True)
        files = list(self._folder.glob("*.parquet"))
        self.added = len(files)
        self._last = max((path.stat().st_mtime_ns // _MILLI for path in files), default=0)
        self._spark = spark

    def add(self, rows: Sequence[Mapping[str, Any]] | pa.Table = ()) -> None:
        table = (
            rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), self._arrow)
        )
        target = self._folder / f"{self.added:08d}.parquet"
        hidden = target.with_name(f".{target.name}")
        pq.write_table(table.cast(self._arrow), hidden)
        # Spark orders files by modification time, in milliseconds; equal times in any order.
        self._last = max(time.time_ns() // _MILLI, self._last + 1)
        os.utime(hidden, ns=(self._last * _MILLI, self._last * _MILLI))
        hidden.rename(target)
        self.added += 1

    def frame(self) -> DataFrame:
        reader = self._spark.readStream.schema(self.schema).options(**EVERY_FILE)
        reader = reader.option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._folder))


def _create_temporary_folder() -> Path:
    """Creates a folder that is removed when this process ends: Spark may read it until then."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class MemorySink:
    """Stores rows by query and micro-batch; a retried batch replaces its rows."""

    stable_tasks: ClassVar[bool] = False

    def __init__(self) -> None:
        self._batches: dict[tuple[str, int], pa.Table] = {}
        self._empty = pa.table({})

    def projection(self, schema: StructType, *, ansi: bool = True) -> dict[str, Column]:  # noqa: ARG002
        self._empty = to_arrow_schema(schema, timezone="UTC").empty_table()
        return {name: F.col("`" + name.replace("`", "``") + "`") for name in schema.names}

    def begin(self, batch: BatchId) -> ArrowOpener:  # noqa: ARG002
        return ArrowOpener()

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        self._batches[batch.query, batch.batch] = collect_rows(messages, self._empty)

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def write(self, rows: DataFrame, batch: int) -> None:
        """Stores a batch; a function for Spark's `foreachBatch`."""
        self._batches["", batch] = rows.toArrow()

    @property
    def columns(self) -> list[str]:
        named = (table.column_names for table in self._batches.values())
        return next(filter(None, named), [])

    @property
    def tables(self) -> list[pa.Table]:
        """The rows of each batch."""
        return [*self._batches.values()]

    def rows(self) -> list[dict[str, Any]]:
        return [row for table in self._batches.values() for row in table.to_pylist()]
