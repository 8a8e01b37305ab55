"""The Delta sink: each batch is one version of the table, with its number as a transaction.

    append    executors write data files; the driver adds them to the table
    merge     executors pass rows to the driver, which merges them by 'key.columns'

Readers see whole batches only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.arrow_writer import ArrowOpener
from millstream.connectors.delta.commit import BatchCommit, add_files
from millstream.connectors.delta.merge import merge_rows, mergeable
from millstream.connectors.delta.staged_rows import (
    StagedRowsOpener,
    read_staged,
    remove_staged,
    staging_folder,
)
from millstream.connectors.delta.table import prepare_table
from millstream.connectors.file.sink_options import partition_columns
from millstream.connectors.key_changes import OP
from millstream.connectors.key_columns import key_columns
from millstream.connectors.lake.columns import to_columns
from millstream.connectors.lake.data_files import DataFileOpener, remove_files
from millstream.connectors.lake.table import TableColumns
from millstream.connectors.paths import resolve
from millstream.connectors.sink import BatchId, Message, WriterOpener
from millstream.plan.nodes import SinkDef


@dataclass(slots=True)
class DeltaSink:
    """Writes each batch to a Delta table exactly once."""

    sink: SinkDef
    path: str
    _table: TableColumns | None = None
    _commit: BatchCommit = field(init=False)
    _is_written: bool = False  # whether an earlier attempt has committed the current batch

    stable_tasks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._commit = BatchCommit(self._owner, self.path)

    @classmethod
    def opened(cls, sink: SinkDef, base: Path) -> DeltaSink:
        return cls(sink, resolve(sink.option("path"), base).rstrip("/"))

    @property
    def _owner(self) -> str:
        return f"sink {self.sink.name}"

    def check(self, rows: Callable[[], DataFrame]) -> None:
        """Creates the table or checks it, so that errors are reported before the job starts."""
        self._prepare(rows().schema)

    def check_side_output(self, schema: pa.Schema) -> None:
        self._prepare(from_arrow_schema(schema))

    def _prepare(self, schema: StructType) -> None:
        key = key_columns(self.sink)
        # Merged changes are applied; appended ones keep the column that says what they are.
        columns = StructType([each for each in schema if not key or each.name != OP])
        self._table = prepare_table(
            self._owner,
            self.path,
            to_columns(self.sink.name, columns),
            partition_columns(self.sink),
            key,
            create=self.sink.option("create.table", "true").lower() == "true",
        )

    def begin(self, batch: BatchId) -> WriterOpener:
        assert self._table is not None
        self._is_written = self._commit.is_done(batch)
        if self._is_written:
            return ArrowOpener(0)
        if self._table.key:
            remove_staged(self.path, staging_folder(batch))
            return StagedRowsOpener(self._table, staging_folder(batch))
        return DataFileOpener(self._table)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        assert self._table is not None
        if self._is_written:
            return
        if self._table.key:
            names = [name for message in messages for name in message["staged"]]
            rows = read_staged(self.path, names)
            if rows is not None:
                changes = mergeable(rows, self._table.key)
                self._commit.commit(batch, merge_rows(changes, self._table.key))
                remove_staged(self.path, staging_folder(batch))
        elif files := [file for message in messages for file in message["files"]]:
            self._commit.commit(batch, add_files(files))

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:
        if self._is_written or self._table is None:
            return
        if self._table.key:
            remove_staged(self.path, staging_folder(batch))
        elif not self._commit.is_done(batch):
            remove_files(self.path, [each["path"] for m in messages for each in m["files"]])
