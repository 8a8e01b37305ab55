"""Decodes the values of records into columns, a block at once.

JSON and CSV are read by the readers of files, so that a value means the same in both: values are
joined to lines. A value that does not fit rejects only its own record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa

from millstream.connectors.file.csv_blocks import CsvBlocks
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.json_lines import JsonLines
from millstream.connectors.file.rejections import Flaw, Rejections
from millstream.connectors.file.values import Column

NO_VALUE = "the record has no value; it is a tombstone."
EMPTY = "the value is empty."
_FILE_TEXT = "valid text in the file's encoding"
_LINE_END = b"\x0b"  # instead of one where JSON has none: still malformed, and no second line
Read = Callable[["Flaws", bytes], Iterator[pa.RecordBatch | None]]


@dataclass(frozen=True, slots=True)
class DecodedValues:
    """A row for each value, in their order; NULLs in rows of `flaws`, which are by row."""

    columns: list[pa.Array]
    flaws: dict[int, Flaw]


class Decoder(Protocol):
    """Decodes values to the columns of a source."""

    @property
    def is_binary(self) -> bool:
        """Whether dead letters have values in Base64."""
        ...

    @property
    def columns(self) -> Sequence[Column]: ...

    def decode(self, values: Sequence[bytes | None]) -> DecodedValues: ...


@dataclass(slots=True)
class Flaws(Rejections):
    """Collects flaws where a reader of files collects rejections."""

    file: str = ""
    found: dict[int, Flaw] = field(default_factory=dict)
    _rows: int = 0  # of earlier batches

    def add(self, row: int, raw: str, flaw: Flaw, offset: int | None = None) -> None:  # noqa: ARG002
        message = flaw.message.replace("the line", "the value").replace(_FILE_TEXT, "valid UTF-8")
        self.found[self._rows + row] = Flaw(message, flaw.column, flaw.value)

    def column(self, rows: int) -> pa.Array:
        self._rows += rows
        return pa.nulls(rows, pa.string())


@dataclass(frozen=True, slots=True)
class JsonValues:
    columns: tuple[Column, ...]
    is_binary: ClassVar[bool] = False

    def decode(self, values: Sequence[bytes | None]) -> DecodedValues:
        return _by_lines(values, self.columns, _json_line, self._read)

    def _read(self, flaws: Flaws, block: bytes) -> Iterator[pa.RecordBatch | None]:
        names = [column.name for column in self.columns]
        return JsonLines(self.columns, names, flaws).read(0, block)


@dataclass(frozen=True, slots=True)
class CsvValues:
    columns: tuple[Column, ...]
    form: CsvForm
    nulls: tuple[str, ...]
    is_binary: ClassVar[bool] = False

    def decode(self, values: Sequence[bytes | None]) -> DecodedValues:
        return _by_lines(values, self.columns, _csv_line, self._read)

    def _read(self, flaws: Flaws, block: bytes) -> Iterator[pa.RecordBatch | None]:
        places = dict(enumerate(self.columns))
        names = [column.name for column in self.columns]
        yield CsvBlocks(self.form, len(places), places, names, flaws, self.nulls).read(0, block)


@dataclass(frozen=True, slots=True)
class RawValues:
    """The value as it is, in one column of STRING or BINARY."""

    columns: tuple[Column, ...]
    is_binary: ClassVar[bool] = False

    def decode(self, values: Sequence[bytes | None]) -> DecodedValues:
        column = self.columns[0]
        found = pa.array(values, pa.binary())
        if not pa.types.is_string(column.type):
            return DecodedValues([found.cast(column.type)], {})
        flaws: dict[int, Flaw] = {}
        try:
            return DecodedValues([found.cast(pa.string())], flaws)
        except pa.ArrowInvalid:
            pass
        texts: list[str | None] = []
        for row, value in enumerate(values):
            try:
                texts.append(None if value is None else value.decode())
            except UnicodeDecodeError:
                flaws[row] = Flaw(f"column {column.name}: the value is not UTF-8.", column.name)
                texts.append(None)
        return DecodedValues([pa.array(texts, pa.string())], flaws)


@dataclass(frozen=True, slots=True)
class KeyText:
    """The keys of records as text that is one column."""

    column: Column
    is_binary: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def decode(self, values: Sequence[bytes | None]) -> DecodedValues:
        text = RawValues((Column(self.column.name, pa.string(), "STRING"),)).decode(values)
        flaws = {row: Flaw("there is none.") for row, each in enumerate(values) if each is None}
        column = self.column
        found, unfit = column.convert_strings(text.columns[0])
        flaws |= {
            int(row): Flaw.of(column, text.columns[0][row].as_py()) for row in unfit.nonzero()[0]
        }
        return DecodedValues([found], flaws | text.flaws)


def _json_line(value: bytes) -> bytes | Flaw:
    line = value.strip()
    if not line:
        return Flaw(EMPTY)
    if b"\n" not in line:
        return line
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return line.replace(b"\n", _LINE_END)
    return line.replace(b"\n", b" ")  # between its parts: JSON has none inside of strings


def _csv_line(value: bytes) -> bytes | Flaw:
    line = value.removesuffix(b"\n").removesuffix(b"\r")
    if not line:
        return Flaw(EMPTY)
    if b"\n" in line or b"\r" in line:
        return Flaw("the value has more than one line.")
    return line


def _by_lines(
    values: Sequence[bytes | None],
    columns: Sequence[Column],
    line_of: Callable[[bytes], bytes | Flaw],
    read: Read,
) -> DecodedValues:
    """Decodes values as lines of one block."""
    flaws: dict[int, Flaw] = {}
    lines: list[bytes] = []
    rows: list[int] = []  # of the lines
    for row, value in enumerate(values):
        line = Flaw(NO_VALUE) if value is None else line_of(value)
        if isinstance(line, Flaw):
            flaws[row] = line
        else:
            lines.append(line)
            rows.append(row)
    arrays, found = _read_lines(lines, columns, read)
    flaws |= {rows[row]: flaw for row, flaw in found.items()}
    if len(rows) < len(values):
        places = np.full(len(values), -1)
        places[rows] = np.arange(len(rows))
        taken = pa.array(places, mask=places < 0)
        arrays = [array.take(taken) for array in arrays]
    return DecodedValues(arrays, flaws)


def _read_lines(
    lines: Sequence[bytes], columns: Sequence[Column], read: Read
) -> tuple[list[pa.Array], dict[int, Flaw]]:
    """Reads lines; halves them if the reader finds another number of rows."""
    if not lines:
        return [pa.array([], column.type) for column in columns], {}
    flaws = Flaws()
    batches = [batch for batch in read(flaws, b"\n".join(lines)) if batch is not None]
    if sum(batch.num_rows for batch in batches) == len(lines):
        table = pa.Table.from_batches(batches).combine_chunks()
        arrays = [table[column.name].combine_chunks() for column in columns]
        return [_plain(array) for array in arrays], flaws.found
    if len(lines) == 1:
        nulls = [pa.nulls(1, column.type) for column in columns]
        return nulls, {0: Flaw("the value is not one record.")}
    half = len(lines) // 2
    first, first_flaws = _read_lines(lines[:half], columns, read)
    second, second_flaws = _read_lines(lines[half:], columns, read)
    joined = [pa.concat_arrays([one, two]) for one, two in zip(first, second, strict=True)]
    return joined, first_flaws | {half + row: flaw for row, flaw in second_flaws.items()}


def _plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
