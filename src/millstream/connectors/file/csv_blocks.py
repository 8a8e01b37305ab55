"""Converts blocks of CSV records to columns.

Arrow converts a block at once. If a record does not fit, the block is split into records. Records
with a wrong number of values are rejected, then those with a value that does not fit its type.
Other rows of the block are not affected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.rejections import Flaw, Rejections
from millstream.connectors.file.text_file import BOM
from millstream.connectors.file.values import (
    FALSE,
    LOCAL,
    TRUE,
    Column,
    in_range,
    is_text,
    time_form,
    times,
)

_LINE_ENDS = (b"\r", b"\n")


@dataclass(slots=True)
class CsvBlocks:
    """Reads blocks of one file whose records have `width` values.

    Attributes:
        columns: The declared columns by their position in a record.
        wanted: The columns that are returned.
        nulls: Unquoted values that mean NULL.
    """

    form: CsvForm
    width: int
    columns: Mapping[int, Column]
    wanted: Sequence[str]
    rejections: Rejections
    nulls: Sequence[str] = ("",)
    _types: dict[str, pa.DataType] = field(init=False)  # the types in which Arrow reads columns
    _sniffed: bool = False

    def __post_init__(self) -> None:
        self._types = {
            str(place): _read_at_once(column)
            for place, column in self.columns.items()
            if column.name in self.wanted or not is_text(column.type)  # any text fits STRING
        }

    def read(self, offset: int, block: bytes) -> pa.RecordBatch | None:
        """Returns the rows of the block at an offset, with rejections in the column BAD."""
        if block[:1] in _LINE_ENDS and not block.strip(b"\r\n"):
            return None
        if self.form.is_plain(block) and is_utf8(block):
            if not self._sniffed:
                self._sniff(block)
            try:
                columns = self._at_once(block)
            except pa.ArrowInvalid:
                pass
            else:
                return self._batch(
                    columns, self.rejections.column(len(next(iter(columns.values()))))
                )
        return self._one_by_one(offset, block)

    def _sniff(self, block: bytes) -> None:
        """Detects whether the first record's times have a UTC offset, to read all times so."""
        self._sniffed = True
        _, record, closed = next(self.form.records(block))
        if self._flaw(record, closed) is None:
            for name, column, texts in self._texts([record]):
                if name in self._types and _is_iso(column) and texts[0].is_valid:
                    self._types[name] = time_form(texts.cast(pa.string()))

    def _at_once(self, block: bytes) -> dict[str, pa.Array]:
        read = self._parsed(block, self._types)
        found = {}
        for place, column in zip(read.column_names, read.columns, strict=True):
            declared = self.columns.get(int(place))
            array = column.combine_chunks()
            found[declared.name if declared else ""] = (
                array if declared is None else _as_declared(declared, array)
            )
        return found

    def _parsed(self, block: bytes, types: Mapping[str, pa.DataType]) -> pa.Table:
        # At least one column, for the number of rows.
        types = types or {"0": pa.binary()}
        if block.startswith((BOM, b"\n", b"\r")):
            # Arrow skips a byte order mark in the middle of a file, too, and reads an empty string
            # after an empty line as NULL.
            block = b"\n" + block if block.startswith(BOM) else block.lstrip(b"\r\n")
        if not block.endswith((b"\n", b"\r")):
            block += b"\n"
        form = self.form
        return csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(
                use_threads=False,
                block_size=len(block) + 1,
                column_names=[str(place) for place in range(self.width)],
            ),
            csv.ParseOptions(
                delimiter=form.delimiter,
                quote_char=form.quote or False,
                escape_char=form.escape or False,
                newlines_in_values=form.multiline and form.has_quotes(block),
            ),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=types,
                include_columns=list(types),
                null_values=list(self.nulls),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=TRUE,
                false_values=FALSE,
            ),
        )

    def _one_by_one(self, offset: int, block: bytes) -> pa.RecordBatch | None:
        places: list[int] = []
        texts: list[bytes] = []
        fit: list[int] = []
        flaws: dict[int, Flaw] = {}
        for place, text, closed in self.form.records(block):
            flaw = self._flaw(text, closed)
            if flaw is None:
                fit.append(len(texts))
            else:
                flaws[len(texts)] = flaw
            places.append(offset + place)
            texts.append(text)
        if not texts:
            return None
        rows = np.full(len(places), -1)  # the row of each record among the parsed records
        rows[fit] = np.arange(len(fit))
        found = {}
        for name, column, values in self._texts([texts[row] for row in fit]):
            array, unfit = column.convert_strings(values)
            for number in np.flatnonzero(unfit):
                value = values[int(number)].as_py().decode()
                flaws.setdefault(fit[number], Flaw.of(column, value))
            if name in self._types and _is_iso(column):
                valid = values.filter(array.is_valid()).cast(pa.string())
                self._types[name] = time_form(valid)
            found[column.name] = array
        for row, flaw in sorted(flaws.items()):
            rows[row] = -1
            raw = texts[row].decode("utf-8", "replace")
            self.rejections.add(row, raw, flaw, places[row])
        taken = pa.array(rows, mask=rows < 0)
        columns = {name: array.take(taken) for name, array in found.items()}
        return self._batch(columns, self.rejections.column(len(places)))

    def _flaw(self, record: bytes, closed: bool) -> Flaw | None:
        if not closed:
            return Flaw("a quoted value is not closed, or something follows its closing quote.")
        if not is_utf8(record):
            return Flaw("the record is not valid text in the file's encoding.")
        count = self.form.fields(record)
        if count != self.width:
            return Flaw(f"the record has {count} values instead of {self.width}.")
        return None

    def _texts(self, records: list[bytes]) -> list[tuple[str, Column, pa.Array]]:
        """Returns the strings of each column, NULL for missing values."""
        types = {str(place): pa.binary() for place in self.columns}
        if not records:
            arrays = {name: pa.array([], kind) for name, kind in types.items()}
        else:
            if self.form.trim:
                mark = self.form.delimiter.encode()
                records = [mark.join(self.form.values(each)) for each in records]
            # An empty value of a single column would be an empty line.
            read = self._parsed(b"\n".join([each or b'""' for each in records]) + b"\n", types)
            assert read.num_rows == len(records), records
            arrays = {name: read[name].combine_chunks() for name in types}
        return [(str(place), column, arrays[str(place)]) for place, column in self.columns.items()]

    def _batch(self, columns: Mapping[str, pa.Array], bad: pa.Array) -> pa.RecordBatch:
        names = [name for name in self.wanted if name in columns]
        return pa.RecordBatch.from_arrays([*(columns[name] for name in names), bad], [*names, BAD])


def _is_iso(column: Column) -> bool:
    """Whether the column has ISO 8601 times, with or without an offset."""
    return pa.types.is_timestamp(column.type) and column.format is None and bool(column.type.tz)


def _read_at_once(column: Column) -> pa.DataType:
    if pa.types.is_timestamp(column.type):
        return LOCAL if column.format is None else pa.string()
    return column.type


def _as_declared(column: Column, array: pa.Array) -> pa.Array:
    """Converts a column that Arrow read to its declared type; raises ArrowInvalid if it does not
    fit."""
    if pa.types.is_timestamp(column.type):
        if column.format is not None:
            return column.values(array)
        if pa.types.is_string(array.type):
            return in_range(times(pc.utf8_trim(array, " \t")))
        return in_range(array.cast(column.type))
    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(array)).as_py():
        raise pa.ArrowInvalid("infinite")
    return in_range(array)


def is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
