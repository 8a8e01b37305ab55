"""A block of whole lines of a CSV file as columns.

A block is converted at once. One that holds a record that does not fit is taken apart: lines that
have another number of fields, then texts that are no values. So a bad record costs its block some
time, and no other row anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyarrow import csv

from millstream.connectors.csv_values import FALSE, HERE, TRUE, converted, time_form, times
from millstream.connectors.malformed import BAD

BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Blocks:
    """Reads blocks of one file: `columns` of all that lines have, which are `names`."""

    names: tuple[str, ...]
    columns: Mapping[str, pa.DataType]
    delimiter: str
    _forms: dict[str, pa.DataType] = field(init=False)  # in which columns are read at once
    _record: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._forms = {
            name: HERE if pa.types.is_timestamp(kind) else kind
            for name, kind in self.columns.items()
        }
        # A quote opens a value where it is the first character, as in Arrow's parser.
        mark = re.escape(self.delimiter.encode())
        value = rb'(?:"(?:[^"]++|"")*+"[^%b]*+|[^"%b][^%b]*+|)' % (mark, mark, mark)
        self._record = re.compile(b"%b(?:%b%b){%d}" % (value, mark, value, len(self.names) - 1))

    def read(self, block: bytes) -> pa.RecordBatch | None:
        """The rows of a block, with the text of malformed ones in the column BAD."""
        if b"\r" in block:
            block = b"\n".join(block.splitlines())
        if not _of_lines(block):
            block = block.strip(b"\n") + b"\n"
        if block == b"\n":
            return None
        try:
            columns = self._at_once(block)
        except pa.ArrowInvalid:
            columns = None
        if columns is None:
            return self._taken_apart([line for line in block.split(b"\n") if line])
        rows = len(columns[0])
        return self._batch(columns[: len(self.columns)], pa.nulls(rows, pa.string()))

    def _at_once(self, block: bytes) -> list[pa.Array] | None:
        """Columns, if a line is a row: a quote that is open at its end takes in the next line."""
        if not self._fits(block[block.rfind(b"\n", 0, -1) + 1 : -1]):
            return None
        read = self._parsed(block, self._forms)
        # There are as many rows as line ends, unless lines are empty or were taken in.
        if read.num_rows != block.count(b"\n") and read.num_rows != _filled(block):
            return None
        return [
            self._as_declared(name, column.combine_chunks())
            for name, column in zip(read.column_names, read.columns, strict=True)
        ]

    def _as_declared(self, name: str, column: pa.Array) -> pa.Array:
        kind = self.columns.get(name, column.type)
        if column.type == kind:
            return column
        return times(column) if pa.types.is_string(column.type) else column.cast(kind)

    def _parsed(self, block: bytes, forms: Mapping[str, pa.DataType]) -> pa.Table:
        # One column at least, to know how many rows there are.
        forms = forms or {self.names[0]: pa.binary()}
        if block.startswith(BOM):
            block = b"\n" + block  # or Arrow would pass over it, also in the middle of a file
        return csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=self.names),
            csv.ParseOptions(delimiter=self.delimiter),
            csv.ConvertOptions(
                column_types=forms,
                include_columns=list(forms),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=TRUE,
                false_values=FALSE,
            ),
        )

    def _fits(self, line: bytes) -> bool:
        if b'"' in line:
            return self._record.fullmatch(line) is not None
        return line.count(self.delimiter.encode()) == len(self.names) - 1

    def _taken_apart(self, lines: list[bytes]) -> pa.RecordBatch:
        fit = np.flatnonzero([self._fits(line) for line in lines])
        places = np.full(len(lines), -1)  # of the rows that come out, among those that are parsed
        places[fit] = np.arange(len(fit))
        columns = []
        for name, texts in self._texts([lines[place] for place in fit]).items():
            column, unfit = converted(texts, self.columns[name])
            places[fit[unfit]] = -1
            if pa.types.is_timestamp(column.type):
                self._forms[name] = time_form(texts.filter(column.is_valid()).cast(pa.string()))
            columns.append(column)
        lost = places < 0
        taken = pa.array(places, mask=lost)
        raw = [
            line.decode("utf-8", "replace") if bad else None
            for line, bad in zip(lines, lost, strict=True)
        ]
        return self._batch([column.take(taken) for column in columns], pa.array(raw, pa.string()))

    def _texts(self, lines: list[bytes]) -> dict[str, pa.Array]:
        forms = dict.fromkeys(self.columns, pa.binary())
        if not lines:
            return {name: pa.array([], kind) for name, kind in forms.items()}
        read = self._parsed(b"\n".join([*lines, b""]), forms)
        assert read.num_rows == len(lines)
        return {name: read[name].combine_chunks() for name in forms}

    def _batch(self, columns: list[pa.Array], bad: pa.Array) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*columns, bad], [*self.columns, BAD])


def _of_lines(block: bytes) -> bool:
    """Does it begin with a line and end with a line's end, without which Arrow may take NULL for
    an empty text?"""
    return block.endswith(b"\n") and not block.endswith(b"\n\n") and not block.startswith(b"\n")


def _filled(block: bytes) -> int:
    """How many lines are not empty."""
    return sum(map(bool, block.split(b"\n")))
