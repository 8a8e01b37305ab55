"""The Iceberg sink: each batch is one snapshot of the table, with its number.

Executors write data files; the driver adds them in a commit that also sets a table property, by
which a repeated batch is recognized. The property remains when snapshots expire.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyiceberg.table import Table
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.arrow_writer import ArrowOpener
from millstream.connectors.file.sink_options import partition_columns
from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.failures import described
from millstream.connectors.iceberg.settings import catalog_settings
from millstream.connectors.iceberg.table import prepare_table
from millstream.connectors.lake.columns import to_columns
from millstream.connectors.lake.data_files import DataFileOpener, remove_files
from millstream.connectors.lake.table import TableColumns
from millstream.connectors.sink import BatchId, Message, WriterOpener
from millstream.errors import RunError
from millstream.plan.nodes import SinkDef


@dataclass(slots=True)
class IcebergSink:
    """Appends each batch to an Iceberg table exactly once."""

    sink: SinkDef
    target: CatalogTable
    _columns: TableColumns | None = None
    _table: Table | None = None
    _is_written: bool = False  # whether an earlier attempt has committed the current batch

    stable_tasks: ClassVar[bool] = False

    @classmethod
    def opened(cls, sink: SinkDef, base: Path) -> IcebergSink:
        catalog = sink.option("catalog", "default")
        settings = catalog_settings(sink, base)
        return cls(sink, CatalogTable(f"sink {sink.name}", catalog, settings, sink.option("table")))

    def check(self, rows: Callable[[], DataFrame]) -> None:
        """Creates the table or checks it, so that errors are reported before the job starts."""
        self._prepare(rows().schema)

    def check_side_output(self, schema: pa.Schema) -> None:
        self._prepare(from_arrow_schema(schema))

    def _prepare(self, schema: StructType) -> None:
        self._columns = prepare_table(
            self.target,
            to_columns(self.sink.name, schema),
            partition_columns(self.sink),
            create=self.sink.option("create.table", "true").lower() == "true",
        )

    def begin(self, batch: BatchId) -> WriterOpener:
        assert self._columns is not None
        self._is_written = self._is_done(batch)
        return ArrowOpener(0) if self._is_written else DataFileOpener(self._columns)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        assert self._columns is not None
        names = [file["path"] for message in messages for file in message.get("files", ())]
        if self._is_written or not names or self._is_done(batch):
            return
        folder = self._columns.folder
        number = str(batch.batch)
        with described(self.target.owner, self.target.table), self._latest().transaction() as made:
            made.set_properties({_marker(batch): number})
            made.add_files(
                [f"{folder}/{name}" for name in names],
                snapshot_properties={
                    "millstream.writer": batch.writer,
                    "millstream.batch": number,
                },
                check_duplicate_files=False,
            )

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:
        if self._columns is None or self._is_written or self._is_done(batch):
            return
        names = [file["path"] for message in messages for file in message.get("files", ())]
        remove_files(self._columns.folder, names)

    def _latest(self) -> Table:
        if self._table is None:
            self._table = self.target.load()
        else:
            with described(self.target.owner, self.target.table):
                self._table.refresh()
        return self._table

    def _is_done(self, batch: BatchId) -> bool:
        """Whether an earlier attempt has committed the batch."""
        found = self._latest().properties.get(_marker(batch))
        last = -1 if found is None else int(found)
        if last > batch.batch:
            raise RunError(
                "MS-RUN-ICEBERG-MARKER",
                f"{self.target.owner}: {self.target.table} contains batches up to {last} of this "
                f"checkpoint, which is at batch {batch.batch}: the checkpoint is older than the "
                "table.",
                fix="Use the latest checkpoint, or roll the table and its property "
                f"{_marker(batch)} back.",
            )
        return last == batch.batch


def _marker(batch: BatchId) -> str:
    return "millstream.batch." + hashlib.sha256(batch.writer.encode()).hexdigest()[:16]
