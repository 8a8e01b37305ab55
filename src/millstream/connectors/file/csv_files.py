"""Reads CSV files on executors, in blocks of columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from millstream.connectors.file.csv_blocks import CsvBlocks
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.folders import folder_values
from millstream.connectors.file.rejections import Rejections, unreadable
from millstream.connectors.file.text_file import BOM, UTF8, Text, UnreadableFileError, open_text
from millstream.connectors.file.values import Column
from millstream.connectors.file.work_names import decode_item
from millstream.connectors.paths import to_local_path


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """The files below a folder, and the declared columns."""

    base: str
    columns: tuple[Column, ...]
    header: bool = True
    form: CsvForm = field(default_factory=CsvForm)
    nulls: tuple[str, ...] = ("",)
    encoding: str = UTF8
    min_part_bytes: ClassVar[int] = (
        16 << 20
    )  # bytes; scheduling smaller parts costs more than it saves

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        """Returns the bytes that are parsed for any columns; 0 if the file does not exist."""
        return text_size(path)

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        """Reads the wanted columns, and BAD, of the records that begin in one part of an item."""
        path, first, last = decode_item(path)
        try:
            given = folder_values(path, self.base, self.columns)
            cut = Cut(first, last, part, parts)
            with open_text(path, self.encoding) as text:
                yield from self._rows(path, text, wanted, given, cut)
        except UnreadableFileError as why:
            if part == 0:
                yield unreadable(path, str(why), wanted)

    def header_names(self, path: str) -> list[str] | None:
        """Returns the names in the header of a file; None if the file is empty.

        Raises UnreadableFileError if the file cannot be read.
        """
        with open_text(path, self.encoding) as text:
            return self._header(text, self._begin(text))[0]

    def _rows(
        self,
        path: str,
        text: Text,
        wanted: Mapping[str, pa.DataType],
        given: Mapping[str, pa.Scalar],
        cut: Cut,
    ) -> Iterator[pa.RecordBatch]:
        first, width, places = self._layout(text, given)
        blocks = CsvBlocks(
            self.form, width, places, list(wanted), Rejections(path, text.line), self.nulls
        )
        first, limit = cut.limits(text, first)
        begin, end = part_of(text, first, limit, cut)
        read = {column.name for column in places.values()}
        absent = {name: pa.scalar(None, kind) for name, kind in wanted.items() if name not in read}
        given = {**absent, **given}
        if not self.form.multiline:  # any line begins a record
            first, limit = text.line_start(first, begin), text.line_start(first, end)
        for offset, block in text.blocks(first, min(end, limit), self.form.end_of, limit):
            if offset >= begin and (rows := blocks.read(offset, block)) is not None:
                yield with_given(rows, wanted, given)

    def _layout(
        self, text: Text, given: Mapping[str, pa.Scalar]
    ) -> tuple[int, int, dict[int, Column]]:
        """Returns where records begin, their number of values, and the positions of columns."""
        declared = [column for column in self.columns if column.name not in given]
        first = self._begin(text)
        if not self.header:
            return first, len(declared), dict(enumerate(declared))
        names, after = self._header(text, first)
        if names is None:
            return text.size, len(declared), dict(enumerate(declared))
        found: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            found.setdefault(name.lower(), []).append(place)
        known = [column for column in declared if column.name.lower() in found]
        twice = [column.name for column in known if len(found[column.name.lower()]) > 1]
        if twice or (declared and not known):
            what = f"{', '.join(twice)} twice" if twice else "none of the declared columns"
            raise UnreadableFileError(
                f"its header has {what}. The header is {', '.join(names)}; the declared columns "
                f"are {', '.join(column.name for column in declared)}."
            )
        return after, len(names), {found[each.name.lower()][0]: each for each in known}

    def _begin(self, text: Text) -> int:
        """Returns where the first record begins, after a byte order mark."""
        text.file.seek(0)
        return len(BOM) if text.file.read(len(BOM)) == BOM else 0

    def _header(self, text: Text, first: int) -> tuple[list[str] | None, int]:
        """Returns the names in the first record that is not empty, and where it ends."""
        for offset, block in text.blocks(first, text.size, self.form.end_of):
            for place, record, _ in self.form.records(block):
                line = record.decode("utf-8", "replace")
                names = next(
                    csv.reader(
                        [line],
                        delimiter=self.form.delimiter,
                        quotechar=self.form.quote or None,
                        quoting=csv.QUOTE_MINIMAL if self.form.quote else csv.QUOTE_NONE,
                    )
                )
                after = offset + place + len(record)
                return [name.strip() if self.form.trim else name for name in names], after
        return None, text.size


def text_size(path: str) -> int:
    """Returns the size of a local file that can be read in parts; 0 for other files."""
    try:
        return Path(to_local_path(path)).stat().st_size
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class Cut:
    """What a task reads of a file: one of several equal parts of the bytes from `begin`, where a
    record begins, to before `end`; None: the end of the file."""

    begin: int
    end: int | None
    part: int
    parts: int

    def limits(self, text: Text, first: int) -> tuple[int, int]:
        """Returns the range of the offsets of records; the file has none before `first`."""
        return max(first, self.begin), text.size if self.end is None else min(self.end, text.size)


def part_of(text: Text, first: int, limit: int, cut: Cut) -> tuple[int, int]:
    """Returns the range of offsets in which a task's blocks begin."""
    if not text.split:
        return (first, limit) if cut.part == 0 else (limit, 0)
    size = limit - first
    begin, end = (first + size * each // cut.parts for each in (cut.part, cut.part + 1))
    return begin, end


def with_given(
    batch: pa.RecordBatch, wanted: Mapping[str, pa.DataType], given: Mapping[str, pa.Scalar]
) -> pa.RecordBatch:
    """Adds values that are the same in all rows of a file, in the order of `wanted`: those of its
    folders, and NULL for a column that it lacks."""
    if not given.keys() & wanted.keys():
        return batch
    *_, bad = batch.columns
    arrays = [
        pa.repeat(given[name], batch.num_rows) if name in given else batch.column(name)
        for name in wanted
    ]
    return pa.RecordBatch.from_arrays([*arrays, bad], [*wanted, batch.schema.names[-1]])
