"""Passes the rows of tasks to the driver, which merges them, in files below the table's folder.

    <path>/_millstream/<output>/<random>.arrow

Readers of a table ignore folders whose names begin with an underscore.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.connectors.key_changes import OP
from millstream.connectors.lake.data_files import to_table_columns
from millstream.connectors.lake.table import TableColumns
from millstream.connectors.paths import filesystem
from millstream.connectors.sink import BatchId, Message, TaskId

FOLDER = "_millstream"


@dataclass(frozen=True, slots=True)
class StagedRowsOpener:
    """Opens the writers of a batch. `folder`: below the table's."""

    table: TableColumns
    folder: str

    def open(self, task: TaskId) -> StagedRowsWriter:  # noqa: ARG002
        return StagedRowsWriter(self.table, self.folder)


@dataclass(slots=True)
class StagedRowsWriter:
    """Writes the rows of one task, and how each changes the result."""

    table: TableColumns
    folder: str
    _rows: int = 0
    _name: str = ""
    _stream: Any = None
    _writer: Any = None

    def write(self, rows: pa.RecordBatch) -> None:
        staged = to_table_columns(self.table, rows)
        changes = pa.nulls(rows.num_rows, pa.string())
        if OP in rows.schema.names:
            changes = rows.column(OP).cast(pa.string())
        staged = staged.append_column(pa.field(OP, pa.string()), changes)
        if self._writer is None:
            system, root = filesystem(self.table.folder)
            self._name = f"{self.folder}/{uuid.uuid4().hex}.arrow"
            system.create_dir(f"{root}/{self.folder}", recursive=True)
            self._stream = system.open_output_stream(f"{root}/{self._name}")
            self._writer = pa.ipc.new_stream(self._stream, staged.schema)
        self._writer.write_batch(staged)
        self._rows += rows.num_rows

    def close(self) -> Message:
        if self._writer is not None:
            self._writer.close()
            self._stream.close()
        return {"rows": self._rows, "staged": [self._name] if self._name else []}

    def abort(self) -> None:
        with suppress(Exception):
            self.close()
        if self._name:
            system, root = filesystem(self.table.folder)
            with suppress(OSError):
                system.delete_file(f"{root}/{self._name}")


def staging_folder(batch: BatchId) -> str:
    return f"{FOLDER}/{hashlib.sha256(batch.writer.encode()).hexdigest()[:16]}"


def read_staged(path: str, names: Sequence[str]) -> pa.Table | None:
    """Returns the rows of all tasks, in their order; None if there are none."""
    system, root = filesystem(path)
    tables = []
    for name in names:
        with system.open_input_stream(f"{root}/{name}") as stream:
            tables.append(pa.ipc.open_stream(stream).read_all())
    return pa.concat_tables(tables) if tables else None


def remove_staged(path: str, folder: str) -> None:
    """Removes the rows of the current batch, or what a killed job has left."""
    system, root = filesystem(path)
    with suppress(FileNotFoundError):
        system.delete_dir(f"{root}/{folder}")
