"""Counts rows of files on the driver, to divide them into parts: `'max.rows.per.batch'`.

Text is read once to count its records, so that a part begins at the first byte of a record. Other
formats have the numbers of rows in their metadata.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa

from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.text_file import (
    UTF8,
    Text,
    UnreadableFileError,
    is_compressed,
    line_ends,
)
from millstream.connectors.paths import filesystem, to_local_path

_DAMAGED = (OSError, pa.ArrowException, UnreadableFileError)


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part of a file ends, how many rows it has at most, and whether it is the last."""

    end: int
    rows: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class RowCounter:
    """Finds parts of the files of a source.

    Attributes:
        form: The format of the files.
        csv: How records of CSV files are found.
        header: Whether CSV files begin with the names of columns.
    """

    form: str
    csv: CsvForm | None = None
    header: bool = False
    encoding: str = UTF8

    def part(self, path: str, begin: int, size: int, most: int) -> Part | None:
        """Returns the part of a file from `begin` that has at most `most` rows; None if its rows
        cannot be counted: a compressed or remote file of text, or one that is damaged."""
        try:
            if self.form in ("csv", "json"):
                return self._text_part(path, begin, size, most)
            return part_of_groups(_GROUPS[self.form](path), begin, most)
        except _DAMAGED:
            return None

    def _text_part(self, path: str, begin: int, size: int, most: int) -> Part | None:
        if self.encoding != UTF8 or is_compressed(path) or not path.startswith(("/", "file:")):
            return None
        with Path(to_local_path(path)).open("rb") as file:
            text = Text(file, size, split=True)
            return self._part(text, begin, most + (self.header and begin == 0))

    def _part(self, text: Text, begin: int, most: int) -> Part:
        end_of = self.csv.end_of if self.csv else _end_of_lines
        rows = 0
        for offset, block in text.blocks(begin, text.size, end_of):
            count = line_ends(block) + (not block.endswith((b"\n", b"\r")))
            if rows + count > most:
                place, count = self._place_of(block, most - rows)
                if place < len(block):
                    return Part(offset + place, rows + count, is_last=False)
            rows += count
        return Part(text.size, rows, is_last=True)

    def _place_of(self, block: bytes, rows: int) -> tuple[int, int]:
        """Returns where the given number of records of a block ends, and how many there are."""
        if self.csv is None or (not self.csv.has_quotes(block) and b"\r" not in block):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            return (int(ends[rows - 1]) + 1 if rows else 0), rows
        count = 0
        for begin, _, _ in self.csv.records(block):
            if count == rows:
                return begin, count
            count += 1
        return len(block), count


def _end_of_lines(data: bytes, last: bool) -> int:
    return len(data) if last else data.rfind(b"\n") + 1


def part_of_groups(groups: Sequence[int], begin: int, most: int) -> Part:
    """Returns the next part of a file whose row groups have these numbers of rows. It ends at the
    end of a row group if that is possible, because a row group is decoded as a whole."""
    ends = list(accumulate(groups))
    total = ends[-1] if ends else 0
    if total - begin <= most:
        return Part(total, total - begin, is_last=True)
    number = bisect_right(ends, begin + most)
    end = ends[number - 1] if number and ends[number - 1] > begin else begin + most
    return Part(end, end - begin, is_last=False)


def _parquet_groups(path: str) -> list[int]:
    import pyarrow.parquet as pq

    system, name = filesystem(to_local_path(path) if path.startswith("file:") else path)
    with system.open_input_file(name) as file:
        found = pq.read_metadata(file)
    return [found.row_group(number).num_rows for number in range(found.num_row_groups)]


def _avro_groups(path: str) -> list[int]:
    from millstream.connectors.file.avro_container import read_blocks, read_header

    system, name = filesystem(to_local_path(path) if path.startswith("file:") else path)
    with system.open_input_file(name) as file:
        return [each.rows for each in read_blocks(file, read_header(file), file.size())]


_GROUPS: dict[str, Callable[[str], list[int]]] = {
    "parquet": _parquet_groups,
    "avro": _avro_groups,
}
