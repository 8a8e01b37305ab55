"""Writes the rows of a task to data files of a table, on executors.

The files have names of their own and belong to the table as soon as the driver commits their
names. Files of a task that was killed belong to no version.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.connectors.lake.statistics import file_statistics
from millstream.connectors.lake.table import TableColumns
from millstream.connectors.paths import filesystem
from millstream.connectors.sink import Message, TaskId

_MAX_OPEN = 64
_ROW_GROUP = 64 << 20  # bytes in memory
_MAX_FOLDER = 100  # characters of a value in the name of a folder
Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class DataFileOpener:
    """Opens the writers of a batch."""

    table: TableColumns

    def open(self, task: TaskId) -> DataFileWriter:
        return DataFileWriter(self.table, task)


@dataclass(slots=True)
class DataFileWriter:
    """Writes the rows of one task, one file for each combination of partition values."""

    table: TableColumns
    task: TaskId
    _rows: int = 0
    _files: list[dict[str, Any]] = field(default_factory=list)
    _open: OrderedDict[Values, _DataFile] = field(default_factory=OrderedDict)

    def write(self, rows: pa.RecordBatch) -> None:
        for values, part in by_partition(to_table_columns(self.table, rows), self.table):
            self._file(values).write(part)
        self._rows += rows.num_rows

    def close(self) -> Message:
        while self._open:
            self._close_oldest()
        return {"rows": self._rows, "files": self._files}

    def abort(self) -> None:
        names = [each["path"] for each in self._files]
        for each in self._open.values():
            names.append(each.name)
            with suppress(Exception):
                each.close()
        self._open.clear()
        remove_files(self.table.folder, names)

    def _file(self, values: Values) -> _DataFile:
        if values in self._open:
            self._open.move_to_end(values)
            return self._open[values]
        if len(self._open) >= _MAX_OPEN:
            self._close_oldest()
        folder = "".join(
            f"{quote(name, safe=' ')}={_folder_value(value)}/"
            for name, value in zip(self.table.partitions, values, strict=True)
        )
        number = max(self.task.task, 0)
        name = f"{folder}part-{number:05d}-{uuid.uuid4()}.snappy.parquet"
        self._open[values] = _DataFile(self.table.folder, name, values)
        return self._open[values]

    def _close_oldest(self) -> None:
        values, oldest = self._open.popitem(last=False)
        made = oldest.close()
        self._files.append(
            made | {"partition": dict(zip(self.table.partitions, values, strict=True))}
        )


class _DataFile:
    def __init__(self, path: str, name: str, values: Values) -> None:
        self.values = values
        self.name = name
        system, root = filesystem(path)
        folder = f"{root}/{name}".rpartition("/")[0]
        system.create_dir(folder, recursive=True)
        self._stream = system.open_output_stream(f"{root}/{name}")
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._metadata: list[pq.FileMetaData] = []

    def write(self, rows: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._stream, rows.schema, metadata_collector=self._metadata
            )
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting and self._writer is not None:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting, self._bytes = [], 0

    def close(self) -> dict[str, Any]:
        assert self._writer is not None
        self._flush()
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        (metadata,) = self._metadata
        return {"path": self.name, "size": size, "stats": file_statistics(metadata)}


def to_table_columns(table: TableColumns, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the rows with the names and types of the table."""
    arrays = []
    for name, target in zip(table.names, table.columns, strict=True):
        column = rows.column(name)
        if not target.nullable and column.null_count:
            raise table.table.error(
                f"column {target.name} of {table.table.name} is NOT NULL, and a row has NULL",
                "Exclude such rows with WHERE, or use coalesce().",
            )
        arrays.append(column if column.type == target.type else column.cast(target.type))
    return pa.RecordBatch.from_arrays(arrays, schema=table.columns)


def by_partition(
    rows: pa.RecordBatch, table: TableColumns
) -> Iterator[tuple[Values, pa.RecordBatch]]:
    """Yields the rows of each combination of partition values."""
    partitions = table.partitions
    if not rows.num_rows:
        return
    if not partitions:
        yield (), rows
        return
    remaining = rows
    if not table.has_partitions:
        remaining = rows.select([name for name in rows.schema.names if name not in partitions])
    codes = np.zeros(rows.num_rows, np.int64)
    known: list[list[str | None]] = []
    for name in partitions:
        encoded = _partition_text(rows.column(name)).dictionary_encode(null_encoding="encode")
        known.append(encoded.dictionary.to_pylist())
        codes = codes * len(known[-1]) + encoded.indices.to_numpy()
    for code in np.unique(codes).tolist():
        values, rest = [], code
        for texts in reversed(known):
            rest, place = divmod(rest, len(texts))
            values.append(texts[place])
        yield tuple(reversed(values)), remaining.filter(pa.array(codes == code))


def _partition_text(column: pa.Array) -> pa.Array:
    """Returns values as the Delta protocol writes them. Its empty text means NULL."""
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column.cast(pa.timestamp("us")), "%Y-%m-%d %H:%M:%S")
    text = column.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _folder_value(value: str | None) -> str:
    return "__HIVE_DEFAULT_PARTITION__" if value is None else quote(value, safe=" ")[:_MAX_FOLDER]


def remove_files(path: str, names: list[str]) -> None:
    """Removes data files that belong to no version of the table."""
    system, root = filesystem(path)
    for name in names:
        with suppress(OSError):
            system.delete_file(f"{root}/{name}")
