"""Reads Parquet files on executors. Types are converted only if the conversion is exact."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.connectors.dead_letters import BAD, DELETED
from millstream.connectors.file.folders import folder_values
from millstream.connectors.file.parquet_types import convert_column, reads_as
from millstream.connectors.file.rejections import Flaw, Rejections, unreadable
from millstream.connectors.file.text_file import UnreadableFileError, not_opened
from millstream.connectors.file.values import FIRST, FIRST_DAY, LAST, LAST_DAY, Column, Mask
from millstream.connectors.file.work_names import decode_item
from millstream.connectors.paths import filesystem, to_local_path

_BATCH_ROWS = 250_000
_DAMAGED = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)
# Metadata of files whose dates Spark wrote in the hybrid calendar of Spark 2.
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """The files below a folder, and the declared columns."""

    base: str
    columns: tuple[Column, ...]
    any_file: bool = False  # accept a file with none of the columns: its rows are NULL
    min_part_bytes: ClassVar[int] = 16 << 20

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        """Returns the uncompressed bytes of the wanted columns; 0 if the file cannot be read."""
        names = {name.lower() for name in wanted}
        try:
            found = pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError):  # reported when it is read
            return 0
        parts = (found.row_group(number) for number in range(found.num_row_groups))
        columns = (part.column(number) for part in parts for number in range(part.num_columns))
        return sum(
            each.total_uncompressed_size for each in columns if each.path_in_schema.lower() in names
        )

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        """Reads the wanted columns, and BAD, of one part of an item."""
        path, begin, end = decode_item(path)
        try:
            given = folder_values(path, self.base, self.columns)
            with _opened(path) as file:
                found = self._found(file, given)
                rows = _Rows(path, file, self.columns, wanted, given, found)
                yield from rows.read(begin, end, part, parts)
        except UnreadableFileError as why:
            if part == 0:
                yield unreadable(path, str(why), wanted)

    def _found(self, file: pq.ParquetFile, given: Mapping[str, pa.Scalar]) -> dict[str, str]:
        """Maps declared columns to the file's columns, ignoring letter case."""
        declared = [column for column in self.columns if column.name not in given]
        found: dict[str, str] = {}
        for column in declared:
            name = column.name
            same = [own for own in file.schema_arrow.names if own.lower() == name.lower()]
            if len(same) > 1:
                raise UnreadableFileError(f"it has the column {name} {len(same)} times.")
            if not same:
                continue
            found[name] = same[0]
            type_ = file.schema_arrow.field(same[0]).type
            if not reads_as(type_, column.type):
                raise UnreadableFileError(
                    f"its column {name} is {type_}, which cannot be read as {column.sql}. The "
                    f"file's columns are {_described(file.schema_arrow)}."
                )
        if declared and not found and not self.any_file:
            raise UnreadableFileError(
                f"it has none of the declared columns. The file's columns are "
                f"{_described(file.schema_arrow)}; the declared columns are "
                f"{', '.join(column.name for column in declared)}."
            )
        old = [key for key in _OLD_CALENDAR if key in (file.metadata.metadata or {})]
        if old and any(pa.types.is_temporal(column.type) for column in declared):
            raise UnreadableFileError("it has dates in the hybrid calendar of Spark 2.")
        return found


@dataclass(slots=True)
class _Rows:
    """Reads the rows of one open file; `found` maps declared columns to the file's columns."""

    path: str
    file: pq.ParquetFile
    columns: tuple[Column, ...]
    wanted: Mapping[str, pa.DataType]
    given: Mapping[str, pa.Scalar]
    found: Mapping[str, str]

    def read(self, first: int, last: int | None, part: int, parts: int) -> Iterator[pa.RecordBatch]:
        """Reads one of several parts of the rows from `first` to before `last`. Assigns whole row
        groups to parts if there are enough of them, else ranges of rows."""
        count, total = self.file.num_row_groups, self.file.metadata.num_rows
        if count >= parts and first == 0 and last is None:
            for group in range(count * part // parts, count * (part + 1) // parts):
                yield from self._group(group, 0, total)
            return
        size, start = (total if last is None else min(last, total)) - first, 0
        begin, end = first + size * part // parts, first + size * (part + 1) // parts
        for group in range(count):
            rows = self.file.metadata.row_group(group).num_rows
            if start < end and begin < start + rows:
                yield from self._group(group, max(begin - start, 0), min(end - start, rows))
            start += rows

    def _group(self, group: int, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads rows of a row group; yields one rejection if one of them cannot be decoded."""
        names = list(dict.fromkeys(self.found[name] for name in self.wanted if name in self.found))
        first = sum(self.file.metadata.row_group(each).num_rows for each in range(group))
        rows = self.file.metadata.row_group(group).num_rows
        try:
            table = self.file.read_row_group(group, columns=names, use_threads=False)
        except _DAMAGED as error:
            if begin == 0:
                why = f"its rows {first + 1} to {first + rows} cannot be decoded: {error}."
                yield unreadable(self.path, why, self.wanted)
            return
        if not names:
            table = pa.table({"": pa.nulls(rows)})
        place = first + begin
        for batch in table.slice(begin, end - begin).to_batches(_BATCH_ROWS):
            yield self._batch(batch, place)
            place += batch.num_rows

    def _batch(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        known = {column.name: column for column in self.columns}
        rejections, rejected = Rejections(self.path), np.zeros(batch.num_rows, bool)
        arrays = []
        for name, kind in self.wanted.items():
            if name in self.given:
                array = pa.repeat(self.given[name], batch.num_rows)
            elif name not in self.found:
                array = pa.nulls(batch.num_rows, kind)
            else:
                stored = batch.column(self.found[name])
                array, bad = convert_column(stored, kind)
                bad |= _out_of_range(array)
                for row in np.flatnonzero(bad & ~rejected).tolist():
                    flaw = _flaw(known[name], str(_shown(stored[row])), first + row + 1)
                    rejections.add(row, self._raw(batch, row), flaw)
                rejected |= bad
            arrays.append(array)
        if rejected.any():
            sound = pa.array(~rejected)
            arrays = [pc.if_else(sound, each, pa.scalar(None, each.type)) for each in arrays]
        bad_column = rejections.column(batch.num_rows)
        return pa.RecordBatch.from_arrays([*arrays, bad_column], [*self.wanted, BAD])

    def _raw(self, batch: pa.RecordBatch, row: int) -> str:
        values = {name: _shown(batch.column(name)[row]) for name in batch.schema.names}
        return json.dumps(values, ensure_ascii=False)


def _flaw(column: Column, value: str, row: int) -> Flaw:
    if not pa.types.is_timestamp(column.type):
        flaw = Flaw.of(column, value)
        return Flaw(f"row {row}: {flaw.message}", column.name, value)
    message = (
        f"row {row}: column {column.name}: {value!r} is not a {column.sql}: times are whole "
        "microseconds of the years 1 to 9999."
    )
    return Flaw(message, column.name, value)


def _opened(path: str) -> pq.ParquetFile:
    options: dict[str, Any] = {"coerce_int96_timestamp_unit": "us"}
    try:
        if path.startswith(("/", "file:")):
            return pq.ParquetFile(to_local_path(path), memory_map=True, **options)
        system, name = filesystem(path)
        return pq.ParquetFile(system.open_input_file(name), **options)
    except FileNotFoundError:
        raise UnreadableFileError(DELETED) from None
    except pa.ArrowInvalid as error:
        raise UnreadableFileError(f"it is not a whole Parquet file: {error}.") from None
    except OSError as error:
        if error.errno is None:
            raise UnreadableFileError(f"it is not a whole Parquet file: {error}.") from None
        raise not_opened(path, error) from None


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{each.name} ({each.type})" for each in schema)


def _out_of_range(array: pa.Array) -> Mask:
    """Returns a mask of the times before year 1 or after year 9999."""
    kind = array.type
    if not pa.types.is_timestamp(kind) and not pa.types.is_date(kind):
        return np.zeros(len(array), bool)
    day = pa.types.is_date(kind)
    low, high = (FIRST_DAY, LAST_DAY) if day else (FIRST, LAST)
    ends = pc.min_max(array.view(pa.int32() if day else pa.int64()))
    if ends["min"].as_py() is None or (ends["min"].as_py() >= low and ends["max"].as_py() <= high):
        return np.zeros(len(array), bool)
    numbers = pc.fill_null(array.view(pa.int32() if day else pa.int64()), 0).to_numpy()
    return np.asarray((numbers < low) | (numbers > high))


def _shown(value: pa.Scalar) -> str | None:
    if not value.is_valid:
        return None
    try:
        return str(value)
    except (ValueError, OverflowError):  # a time that Python cannot represent
        return str(value.value)
