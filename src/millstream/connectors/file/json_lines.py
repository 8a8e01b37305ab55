"""Reads JSON lines files on executors, in blocks of columns."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.csv_blocks import is_utf8
from millstream.connectors.file.csv_files import Cut, part_of, text_size, with_given
from millstream.connectors.file.folders import folder_values
from millstream.connectors.file.json_values import (
    Convert,
    ValueMismatchError,
    converter,
    flaw_of,
    is_textual,
    parse_line,
)
from millstream.connectors.file.rejections import Flaw, Rejections, unreadable
from millstream.connectors.file.text_file import BOM, UTF8, Text, UnreadableFileError, open_text
from millstream.connectors.file.values import Column, Epoch, in_range
from millstream.connectors.file.work_names import decode_item

_FEW = 500  # lines that are read one by one if one of them may not fit
_NATIVE = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)


@dataclass(frozen=True, slots=True)
class JsonFiles:
    """The files below a folder, and the declared columns."""

    base: str
    columns: tuple[Column, ...]
    encoding: str = UTF8
    min_part_bytes: ClassVar[int] = 16 << 20

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        return text_size(path)

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        """Reads the wanted columns, and BAD, of the lines that begin in one part of an item."""
        path, first, last = decode_item(path)
        try:
            given = folder_values(path, self.base, self.columns)
            cut = Cut(first, last, part, parts)
            with open_text(path, self.encoding) as text:
                lines = JsonLines(
                    tuple(column for column in self.columns if column.name not in given),
                    list(wanted),
                    Rejections(path, text.line),
                )
                for batch in _rows(text, lines, cut):
                    yield with_given(batch, wanted, given)
        except UnreadableFileError as why:
            if part == 0:
                yield unreadable(path, str(why), wanted)


def _rows(text: Text, lines: JsonLines, cut: Cut) -> Iterator[pa.RecordBatch]:
    text.file.seek(0)
    first = len(BOM) if text.file.read(len(BOM)) == BOM else 0
    first, limit = cut.limits(text, first)
    begin, end = part_of(text, first, limit, cut)
    begin, end = text.line_start(first, begin), text.line_start(first, end)
    for offset, block in text.blocks(begin, end, _end_of, end):
        yield from lines.read(offset, block)


def _end_of(data: bytes, last: bool) -> int:
    return len(data) if last else data.rfind(b"\n") + 1


@dataclass(slots=True)
class JsonLines:
    """Reads blocks of lines. All `columns` are validated; those in `wanted` are returned."""

    columns: Sequence[Column]
    wanted: Sequence[str]
    rejections: Rejections
    _schema: pa.Schema | None = field(init=False)  # for Arrow; None if it cannot read it
    _converters: dict[str, Convert] = field(init=False)

    def __post_init__(self) -> None:
        types = [(column.name, _arrow_type(column)) for column in self.columns]
        possible = all(kind is not None for _, kind in types) and bool(types)
        self._schema = pa.schema(types) if possible else None
        self._converters = {column.name: converter(column) for column in self.columns}

    def read(self, offset: int, block: bytes) -> Iterator[pa.RecordBatch]:
        """Returns the rows of the block at an offset, with rejections in the column BAD."""
        arrays = self._at_once(block)
        if arrays is not None:
            yield self._batch(arrays, self.rejections.column(len(arrays[0])))
            return
        lines = block.count(b"\n") + 1
        if lines <= _FEW:
            yield from self._one_by_one(offset, block)
            return
        place, size = 0, len(block) * _FEW // lines
        while place < len(block):
            end = block.find(b"\n", place + size) + 1 or len(block)
            yield from self._few(offset + place, block[place:end])
            place = end

    def _few(self, offset: int, block: bytes) -> Iterator[pa.RecordBatch]:
        arrays = self._at_once(block)
        if arrays is None:
            yield from self._one_by_one(offset, block)
        else:
            yield self._batch(arrays, self.rejections.column(len(arrays[0])))

    def _at_once(self, block: bytes) -> list[pa.Array] | None:
        """Returns the columns if each line is one object and all values fit."""
        if self._schema is None or b"NaN" in block or b"Inf" in block or not is_utf8(block):
            return None  # Arrow accepts NaN as a number
        text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        text = text if text.endswith(b"\n") else text + b"\n"
        if not text.startswith(b"{") or text.count(b"}\n{") + 1 != text.count(b"\n"):
            lines = (line.strip() for line in text.split(b"\n"))
            text = b"\n".join([line for line in lines if line]) + b"\n"
            if not text.startswith(b"{") or text.count(b"}\n{") + 1 != text.count(b"\n"):
                return None
        try:
            read = arrow_json.read_json(
                pa.BufferReader(text),
                arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=self._schema, unexpected_field_behavior="ignore"
                ),
            )
            if read.num_rows != text.count(b"\n"):
                return None
            arrays = [
                _as_declared(column, read[column.name].combine_chunks()) for column in self.columns
            ]
        except ValueError:  # also ArrowInvalid; text that is not ASCII is no Base64
            return None
        return None if _has_empty_row(arrays) else arrays

    def _one_by_one(self, offset: int, block: bytes) -> Iterator[pa.RecordBatch]:
        lines, places, place = [], [], offset
        for line in block.split(b"\n"):
            if line.strip():
                lines.append(line.strip())
                places.append(place)
            place += len(line) + 1
        if not lines:
            return
        flaws: dict[int, Flaw] = {}
        arrays = self._converted(lines, flaws)
        for row, flaw in sorted(flaws.items()):
            raw = lines[row].decode("utf-8", "replace")
            self.rejections.add(row, raw, flaw, places[row])
        if flaws:
            sound = pa.array([row not in flaws for row in range(len(lines))])
            arrays = [pc.if_else(sound, each, pa.scalar(None, each.type)) for each in arrays]
        yield self._batch(arrays, self.rejections.column(len(lines)))

    def _converted(self, lines: Sequence[bytes], flaws: dict[int, Flaw]) -> list[pa.Array]:
        """Converts lines one by one; adds a flaw for each line that does not fit."""
        found = [parse_line(line, self.columns) for line in lines]
        flaws |= {row: each for row, each in enumerate(found) if isinstance(each, Flaw)}
        objects = {row: each for row, each in enumerate(found) if isinstance(each, dict)}
        arrays = []
        for column in self.columns:
            values: list[Any] = [None] * len(lines)
            convert = self._converters[column.name]
            for row, each in objects.items():
                if (value := each.get(column.name)) is None:
                    continue
                try:
                    values[row] = convert(value)
                except ValueMismatchError:
                    flaws.setdefault(row, flaw_of(column, value))
            if is_textual(column.type):
                array, unfit = column.convert_strings(pa.array(values, pa.string()))
                for row in unfit.nonzero()[0].tolist():
                    flaws.setdefault(row, flaw_of(column, objects[row][column.name]))
            else:
                array = pa.array(values, column.type)
            arrays.append(array)
        return arrays

    def _batch(self, arrays: Sequence[pa.Array], bad: pa.Array) -> pa.RecordBatch:
        named = dict(zip((column.name for column in self.columns), arrays, strict=True))
        names = [name for name in self.wanted if name in named]
        return pa.RecordBatch.from_arrays([*(named[name] for name in names), bad], [*names, BAD])


def _arrow_type(column: Column) -> pa.DataType | None:
    """Returns the type in which Arrow reads a column from JSON; None if it cannot."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return pa.int64() if isinstance(column.format, Epoch) else pa.string()
    if pa.types.is_date(kind) or pa.types.is_binary(kind):
        return pa.string()
    return kind if _is_native(kind) else None


def _is_native(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_native(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_native(each.type) for each in kind)
    return pa.types.is_decimal(kind) or any(is_one(kind) for is_one in _NATIVE)


def _as_declared(column: Column, array: pa.Array) -> pa.Array:
    """Converts a column that Arrow read to its declared type; raises ArrowInvalid if it does not
    fit."""
    kind = column.type
    if pa.types.is_timestamp(kind) and isinstance(column.format, Epoch):
        factor = 1_000 if column.format is Epoch.MILLIS else 1_000_000
        return in_range(pc.multiply_checked(array, factor).cast(kind))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        if pc.any(pc.equal(array, "")).as_py():
            raise pa.ArrowInvalid("empty")
        return column.values(array)
    if pa.types.is_binary(kind):
        texts = array.to_pylist()
        return pa.array([each and base64.b64decode(each, validate=True) for each in texts], kind)
    if pa.types.is_floating(kind) and pc.any(pc.is_inf(array)).as_py():
        raise pa.ArrowInvalid("out of range")
    array.validate(full=pa.types.is_decimal(kind) or pa.types.is_nested(kind))
    return array


def _has_empty_row(arrays: Sequence[pa.Array]) -> bool:
    """Whether a row is NULL in all columns: its object may have none of the columns."""
    if any(array.null_count == 0 for array in arrays):
        return False
    empty = arrays[0].is_null()
    for array in arrays[1:]:
        empty = pc.and_(empty, array.is_null())
    return bool(pc.any(empty).as_py())
