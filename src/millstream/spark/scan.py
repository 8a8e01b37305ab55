"""Parquet files that a packer reads itself.

Spark hands a row at a time from its Parquet reader to Arrow; Arrow reads the same file as columns,
in a tenth of the time. So where a packer needs plain columns of plain files, Spark streams the
files' names, with the same log of what was read, and the packer opens them.

    names of files ──▶ packer: reads, packs ──▶ exchange
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.errors import RunError
from millstream.spark.conditions import Both, Condition

PATH = "path"
KEEP = "_ms_keep"  # false: the row is filtered out, but its time still counts for the watermark
_BATCH_ROWS = 250_000
# How Spark marks files whose dates it wrote by the calendar of its version 2.
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True, slots=True)
class Scanned:
    """A column of the files: the name that it is sent by, its own, and its type."""

    sent: str
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Scan:
    """How a packer reads the files whose names it is sent. Other columns that are sent with a name
    are the same for all its rows. `kept`, if there are any: conditions over the names of the files'
    columns, that make a column KEEP. Of each file it reads one of `parts`."""

    source: str
    base: str
    columns: tuple[Scanned, ...]
    kept: tuple[Condition, ...] = ()
    part: int = 0
    parts: int = 1

    def size_of(self, path: str | None) -> int:
        """Bytes of the columns that are read of a file, unpacked; 0 if it cannot be read."""
        names = {each.name.lower() for each in self.columns}
        try:
            found = None if path is None else pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError):  # those who read it will say so
            found = None
        if found is None:
            return 0
        parts = (found.row_group(number) for number in range(found.num_row_groups))
        columns = (part.column(number) for part in parts for number in range(part.num_columns))
        return sum(
            each.total_uncompressed_size for each in columns if each.path_in_schema.lower() in names
        )

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for sent in batch.to_pylist():
                path = sent.pop(PATH)
                types = {name: batch.schema.field(name).type for name in sent}
                for read in self._file(path):
                    yield _with(read, sent, types)

    def _file(self, path: str) -> Iterator[pa.RecordBatch]:
        self._refuse_folders(local(path))
        with self._opened(path) as file:
            found = self._found(file, path)
            names = list(dict.fromkeys(name for name in found.values() if name is not None))
            for batch in self._own_part(file, names):
                columns = [
                    self._column(each, batch, found[each.name], path) for each in self.columns
                ]
                read = pa.RecordBatch.from_arrays(columns, [each.sent for each in self.columns])
                yield self._judged(read) if self.kept else read

    def _own_part(self, file: pq.ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Whole row groups if there are enough of them, else rows."""
        groups, rows = self._share(file.num_row_groups), self._share(file.metadata.num_rows)
        if file.num_row_groups >= self.parts:
            yield from file.iter_batches(_BATCH_ROWS, row_groups=list(groups), columns=names)
            return
        start = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=names):
            first, last = max(rows.start - start, 0), min(rows.stop - start, batch.num_rows)
            start += batch.num_rows
            if first < last:
                yield batch.slice(first, last - first)
            if start >= rows.stop:
                return

    def _share(self, count: int) -> range:
        return range(count * self.part // self.parts, count * (self.part + 1) // self.parts)

    def _judged(self, read: pa.RecordBatch) -> pa.RecordBatch:
        columns = {each.name: read.column(each.sent) for each in self.columns}
        decided = Both("and_kleene", self.kept).decided(columns)
        return read.append_column(KEEP, pc.fill_null(decided, False))

    def _opened(self, path: str) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(local(path), coerce_int96_timestamp_unit="us", memory_map=True)
        except (pa.ArrowInvalid, OSError) as error:
            raise RunError(
                "MS-RUN-PARQUET",
                f"source {self.source}: {path} cannot be read: {error}",
                fix="Mend the file, or take it out of the folder.",
            ) from None

    def _found(self, file: pq.ParquetFile, path: str) -> dict[str, str | None]:
        """The file's own name of each column: letter case does not matter. None: it has none."""
        found: dict[str, str | None] = {}
        for each in self.columns:
            same = [name for name in file.schema_arrow.names if name.lower() == each.name.lower()]
            if len(same) > 1:
                raise self._refused(path, f"holds column {each.name} {len(same)} times")
            found[each.name] = same[0] if same else None
        old = [key for key in _OLD_CALENDAR if key in (file.metadata.metadata or {})]
        if old and any(pa.types.is_temporal(each.type) for each in self.columns):
            raise self._refused(path, "holds dates by the calendar of Spark 2")
        return found

    def _column(
        self, asked: Scanned, batch: pa.RecordBatch, name: str | None, path: str
    ) -> pa.Array:
        if name is None:
            return pa.nulls(batch.num_rows, asked.type)
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.type == asked.type:
            return column
        if not reads_as(column.type, asked.type):
            raise self._refused(
                path, f"holds column {asked.name} as {column.type}, not as {asked.type}"
            )
        try:
            return column.cast(asked.type)
        except pa.ArrowInvalid as error:
            raise self._refused(path, f"holds in column {asked.name} {error}") from None

    def _refuse_folders(self, path: str) -> None:
        """Spark reads the value of a column from a folder `column=value`."""
        names = {each.name.lower() for each in self.columns}
        for folder in PurePosixPath(path.removeprefix(self.base)).parent.parts:
            if folder.partition("=")[0].lower() in names and "=" in folder:
                raise self._refused(path, f"is in a folder that is the value of a column, {folder}")

    def _refused(self, path: str, why: str) -> RunError:
        return RunError(
            "MS-RUN-PARQUET",
            f"source {self.source}: {path} {why}.",
            fix="Declare the column as the file has it, or have Spark read the files: "
            "'reader' = 'spark' in the WITH of a source, .option('reader', 'spark') in Python.",
        )


def reads_as(held: pa.DataType, asked: pa.DataType) -> bool:
    """Is every value of one type also one of the other, as Spark reads it?"""
    if pa.types.is_signed_integer(held) and pa.types.is_signed_integer(asked):
        return bool(held.bit_width <= asked.bit_width)
    if pa.types.is_timestamp(held) and pa.types.is_timestamp(asked):
        return held.unit in ("ms", "us")
    if pa.types.is_decimal(held) and pa.types.is_decimal(asked):
        return bool(held.scale == asked.scale and held.precision <= asked.precision)
    if pa.types.is_float32(held) and pa.types.is_float64(asked):
        return True
    return _is_text(held) and _is_text(asked)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _with(
    read: pa.RecordBatch, same: Mapping[str, Any], types: Mapping[str, pa.DataType]
) -> pa.RecordBatch:
    for name, value in same.items():
        read = read.append_column(name, pa.repeat(pa.scalar(value, types[name]), read.num_rows))
    return read


def local(path: str) -> str:
    """`file:/a` or `file:///a` as a path."""
    return "/" + path.removeprefix("file:").lstrip("/")
