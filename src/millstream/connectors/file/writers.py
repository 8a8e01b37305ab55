"""Writes the rows of a task to files in a hidden folder, on an executor.

A task writes one file for each folder `column=value` of its rows. At most `_MAX_OPEN` files are
open: the least recently used is closed, and further rows of its folder go to a new file.

Rows are either formatted by Spark (a column LINE, and a column FOLDER for each column of
'partition.by'), or Arrow columns that are formatted here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from millstream.connectors.file.texts import csv_lines, json_lines, plain_text
from millstream.connectors.paths import filesystem
from millstream.connectors.sink import Message, TaskId
from millstream.values import CsvDialect

LINE = "_ms_line"  # a formatted row
FOLDER = "_ms_folder"  # followed by a number: a formatted partition column
_MAX_OPEN = 64
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # as Spark and Hive name the folder of NULL
_IN_NAMES = frozenset("\"#%'*/:=?\\{[]^\x7f")
_COMPRESSED = {"gzip": ".gz", "bzip2": ".bz2"}
_ARROW_NAMES = {"bzip2": "bz2"}


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How rows are written to files."""

    name: str  # csv, json, parquet, orc or avro
    partition_by: tuple[str, ...] = ()
    compression: str = ""
    timestamp_format: str = ""
    csv: CsvDialect = field(default_factory=CsvDialect)
    header: str = ""  # the CSV header of rows that Spark formats

    @property
    def ending(self) -> str:
        """The file name extension: the format, and the compression of text files."""
        is_text = self.name in ("csv", "json")
        return self.name + (_COMPRESSED.get(self.compression, "") if is_text else "")


@dataclass(frozen=True, slots=True)
class FileOpener:
    """Opens the writers of a batch, whose files are below `folder`."""

    folder: str
    form: FileFormat

    def open(self, task: TaskId) -> FileWriter:
        return FileWriter(self, task)


class _Open(Protocol):
    """An open file."""

    def write(self, rows: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class FileWriter:
    """Writes the rows of one task."""

    opener: FileOpener
    task: TaskId
    _rows: int = 0
    _files: list[str] = field(default_factory=list)  # below the hidden folder
    _open: OrderedDict[str, _Open] = field(default_factory=OrderedDict)
    _system: fs.FileSystem | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        for folder, part in _by_folder(self.opener.form, rows):
            if part.num_rows:
                self._file(folder, part.schema).write(part)
                self._rows += part.num_rows

    def close(self) -> Message:
        while self._open:
            self._close_oldest()
        return {"rows": self._rows, "files": self._files}

    def abort(self) -> None:
        with suppress(Exception):
            self.close()
        system, root = filesystem(self.opener.folder)
        for name in self._files:
            with suppress(OSError):
                system.delete_file(f"{root}/{name}")

    def _file(self, folder: str, schema: pa.Schema) -> _Open:
        if folder in self._open:
            self._open.move_to_end(folder)
            return self._open[folder]
        if len(self._open) >= _MAX_OPEN:
            self._close_oldest()
        system, root = filesystem(self.opener.folder)
        number = len(self._files)
        ending = self.opener.form.ending
        name = f"part-{self.task.task:05d}-{self.task.attempt}-{number:05d}.{ending}"
        path = f"{folder}/{name}" if folder else name
        system.create_dir(f"{root}/{folder}" if folder else root, recursive=True)
        self._files.append(path)
        self._open[folder] = _opened(system, f"{root}/{path}", self.opener.form, schema)
        return self._open[folder]

    def _close_oldest(self) -> None:
        _, oldest = self._open.popitem(last=False)
        oldest.close()


def _by_folder(form: FileFormat, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yields the rows of each folder, without the partition columns."""
    if not form.partition_by:
        yield "", rows
        return
    columns, texts, taken = [*rows.schema.names], [], set()
    for number, name in enumerate(form.partition_by):
        if (formatted := f"{FOLDER}{number}") in columns:
            texts.append(rows.column(formatted))
            taken.add(formatted)
        else:
            known = next(each for each in columns if each.lower() == name.lower())
            texts.append(plain_text(rows.column(known)))
            taken.add(known)
    remaining = rows.select([name for name in columns if name not in taken])
    codes = np.zeros(rows.num_rows, np.int64)
    values: list[list[str | None]] = []
    for text in texts:
        encoded = text.dictionary_encode(null_encoding="encode")
        values.append(encoded.dictionary.to_pylist())
        codes = codes * len(values[-1]) + encoded.indices.to_numpy()
    for code in np.unique(codes).tolist():
        names, rest = [], code
        for name, known in zip(reversed(form.partition_by), reversed(values), strict=True):
            rest, place = divmod(rest, len(known))
            names.append(f"{_escaped(name)}={_escaped(known[place] or _NO_VALUE)}")
        yield "/".join(reversed(names)), remaining.filter(pa.array(codes == code))


def _escaped(text: str) -> str:
    """Escapes a name or value in a folder name as Spark does."""
    if _IN_NAMES.isdisjoint(text) and text.isprintable():
        return text
    return "".join(
        f"%{ord(each):02X}" if each in _IN_NAMES or ord(each) < 32 else each for each in text
    )


def _opened(system: fs.FileSystem, path: str, form: FileFormat, schema: pa.Schema) -> _Open:
    if form.name == "parquet":
        return _Parquet(system, path, form, schema)
    if form.name == "orc":
        return _Orc(system, path, form)
    if form.name == "avro":
        from millstream.connectors.file.avro_writer import AvroWriter

        return AvroWriter(system, path, form.compression)
    return _Text(system, path, form, schema)


class _Parquet:
    def __init__(
        self, system: fs.FileSystem, path: str, form: FileFormat, schema: pa.Schema
    ) -> None:
        import pyarrow.parquet as pq

        codec = form.compression or "snappy"
        self._writer = pq.ParquetWriter(path, schema, filesystem=system, compression=codec)
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting, self._bytes = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


_ROW_GROUP = 64 << 20  # bytes in memory


class _Orc:
    def __init__(self, system: fs.FileSystem, path: str, form: FileFormat) -> None:
        from pyarrow import orc

        codec = {"none": "uncompressed"}.get(form.compression, form.compression or "zstd")
        self._stream = system.open_output_stream(path)
        self._writer = orc.ORCWriter(self._stream, compression=codec)

    def write(self, rows: pa.RecordBatch) -> None:
        self._writer.write(pa.Table.from_batches([rows]))

    def close(self) -> None:
        self._writer.close()
        self._stream.close()


class _Text:
    def __init__(
        self, system: fs.FileSystem, path: str, form: FileFormat, schema: pa.Schema
    ) -> None:
        self._form = form
        self._formatted = LINE in schema.names
        self._stream = system.open_output_stream(path, compression=None)
        if form.compression and form.compression != "none":
            name = _ARROW_NAMES.get(form.compression, form.compression)
            self._raw: Any = self._stream
            self._stream = pa.CompressedOutputStream(self._stream, name)
        if form.name == "csv" and form.csv.header:
            fields = form.csv.delimiter.join(form.csv.field(name) for name in schema.names)
            header = form.header if self._formatted else fields
            self._stream.write(f"{header}\n".encode())

    def write(self, rows: pa.RecordBatch) -> None:
        if self._formatted:
            lines = rows.column(LINE)
        elif self._form.name == "json":
            lines = json_lines(rows, self._form.timestamp_format)
        else:
            lines = csv_lines(rows, self._form.csv, self._form.timestamp_format)
        self._stream.write(_joined(lines))
        self._stream.write(b"\n")

    def close(self) -> None:
        self._stream.close()
        if hasattr(self, "_raw"):
            self._raw.close()


def _joined(lines: pa.Array) -> pa.Buffer:
    wide = lines.cast(pa.large_string())
    rows = pa.LargeListArray.from_arrays(pa.array([0, len(wide)], pa.int64()), wide)
    return pc.binary_join(rows, pa.scalar("\n", pa.large_string()))[0].as_buffer()
