"""Reads files of row groups, such as Parquet, on executors.

Types are converted only if the conversion is exact. A column that a file lacks is NULL.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.folders import folder_values
from millstream.connectors.file.parquet_types import convert_column, reads_as
from millstream.connectors.file.rejections import Flaw, Rejections, unreadable
from millstream.connectors.file.text_file import UnreadableFileError
from millstream.connectors.file.values import FIRST, FIRST_DAY, LAST, LAST_DAY, Column, Mask
from millstream.connectors.file.work_names import decode_item

_BATCH_ROWS = 250_000


class RowGroupFile(Protocol):
    """An open file."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def groups(self) -> Sequence[int]:
        """The number of rows of each row group."""
        ...

    def read(self, group: int, names: Sequence[str]) -> Iterator[tuple[int, pa.Table | Exception]]:
        """Yields the columns of a row group, which may be in several pieces: the number of rows and
        the columns, or why they cannot be decoded. Without names, the columns are not used."""
        ...


@dataclass(frozen=True, slots=True)
class RowGroupFiles(ABC):
    """The files below a folder, and the declared columns."""

    base: str
    columns: tuple[Column, ...]
    any_file: bool = False  # accept a file with none of the columns: its rows are NULL
    min_part_bytes: ClassVar[int] = 16 << 20

    @abstractmethod
    def open(self, path: str) -> AbstractContextManager[RowGroupFile]:
        """Opens a file; raises UnreadableFileError if it is not a whole file of the format."""

    @abstractmethod
    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        """Returns the uncompressed bytes of the wanted columns; 0 if the file cannot be read."""

    def reject(self, file: RowGroupFile, declared: Sequence[Column]) -> None:  # noqa: B027
        """Raises UnreadableFileError if a file has values that cannot be read exactly."""

    def accepts(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Whether values of a type can be read as a declared type."""
        return reads_as(found, wanted)

    def row_counts(self, path: str) -> Sequence[int]:
        """Returns the number of rows of each row group."""
        with self.open(path) as file:
            return file.groups

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        """Reads the wanted columns, and BAD, of one part of an item."""
        path, begin, end = decode_item(path)
        try:
            given = folder_values(path, self.base, self.columns)
            with self.open(path) as file:
                found = self._found(file, given)
                rows = _Rows(path, file, self.columns, wanted, given, found)
                yield from rows.read(begin, end, part, parts)
        except UnreadableFileError as why:
            if part == 0:
                yield unreadable(path, str(why), wanted)

    def _found(self, file: RowGroupFile, given: Mapping[str, pa.Scalar]) -> dict[str, str]:
        """Maps declared columns to the file's columns, ignoring letter case."""
        declared = [column for column in self.columns if column.name not in given]
        found: dict[str, str] = {}
        for column in declared:
            name = column.name
            same = [own for own in file.schema.names if own.lower() == name.lower()]
            if len(same) > 1:
                raise UnreadableFileError(f"it has the column {name} {len(same)} times.")
            if not same:
                continue
            found[name] = same[0]
            type_ = file.schema.field(same[0]).type
            if not self.accepts(type_, column.type):
                raise UnreadableFileError(
                    f"its column {name} is {type_}, which cannot be read as {column.sql}. The "
                    f"file's columns are {_described(file.schema)}."
                )
        if declared and not found and not self.any_file:
            raise UnreadableFileError(
                f"it has none of the declared columns. The file's columns are "
                f"{_described(file.schema)}; the declared columns are "
                f"{', '.join(column.name for column in declared)}."
            )
        self.reject(file, declared)
        return found


@dataclass(slots=True)
class _Rows:
    """Reads the rows of one open file; `found` maps declared columns to the file's columns."""

    path: str
    file: RowGroupFile
    columns: tuple[Column, ...]
    wanted: Mapping[str, pa.DataType]
    given: Mapping[str, pa.Scalar]
    found: Mapping[str, str]

    def read(self, first: int, last: int | None, part: int, parts: int) -> Iterator[pa.RecordBatch]:
        """Reads one of several parts of the rows from `first` to before `last`. Assigns whole row
        groups to parts if there are enough of them, else ranges of rows."""
        groups = self.file.groups
        count, total = len(groups), sum(groups)
        if count >= parts and first == 0 and last is None:
            own = range(count * part // parts, count * (part + 1) // parts)
            begin = sum(groups[: own.start])
            end = begin + sum(groups[own.start : own.stop])
        else:
            size = (total if last is None else min(last, total)) - first
            begin, end = first + size * part // parts, first + size * (part + 1) // parts
        start = 0
        for group, rows in enumerate(groups):
            if start < end and begin < start + rows:
                yield from self._group(group, start, begin, end)
            start += rows

    def _group(self, group: int, start: int, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads rows from `begin` to before `end` of a row group, whose first row is `start`.
        Yields one rejection for rows that cannot be decoded, in the part with the first of them."""
        names = list(dict.fromkeys(self.found[name] for name in self.wanted if name in self.found))
        for rows, table in self.file.read(group, names):
            if isinstance(table, Exception):
                if begin <= start < end:
                    why = f"its rows {start + 1} to {start + rows} cannot be decoded: {table}."
                    yield unreadable(self.path, why, self.wanted)
            else:
                known = table if names else pa.table({"": pa.nulls(rows)})
                place = max(begin - start, 0)
                for batch in known.slice(place, min(end - start, rows) - place).to_batches(
                    _BATCH_ROWS
                ):
                    yield self._batch(batch, start + place)
                    place += batch.num_rows
            start += rows

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
