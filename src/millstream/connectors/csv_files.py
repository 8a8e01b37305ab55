"""CSV files that workers read with Arrow, as columns.

Spark parses a CSV file a row at a time. Arrow parses blocks of it, and converts only columns that
are asked for.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

import pyarrow as pa

from millstream.connectors.csv_blocks import BOM, Blocks
from millstream.connectors.paths import local, value_folder
from millstream.errors import RunError

_BLOCK = 4 << 20
_PACKED = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zstd")


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """The files of a source: its name, the folder that they are in, and what their lines have."""

    source: str
    base: str
    columns: tuple[tuple[str, pa.DataType], ...]
    header: bool = True
    delimiter: str = ","
    least_part: ClassVar[int] = 16 << 20  # a part less takes Spark as long to hand out as to read

    def size_of(self, path: str, names: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        """Bytes that are parsed, whichever columns are read; 0 if the file is not there."""
        try:
            return Path(path).stat().st_size
        except OSError:  # those who read it will say so
            return 0

    def read(
        self, path: str, asked: Mapping[str, pa.DataType], part: int = 0, parts: int = 1
    ) -> Iterator[pa.RecordBatch]:
        """Columns that are asked for, and BAD, of the lines that begin in one part of a file."""
        name = self._readable(path)
        blocks = Blocks(tuple(column for column, _ in self.columns), asked, self.delimiter)
        try:
            with Path(name).open("rb") as file:
                first = self._after_header(file, path)
                last = file.seek(0, os.SEEK_END)
                start, stop = (
                    _line_from(file, first, first + (last - first) * each // parts)
                    for each in (part, part + 1)
                )
                while start < stop:
                    end = min(_line_from(file, first, start + _BLOCK), stop)
                    file.seek(start)
                    if (rows := blocks.read(file.read(end - start))) is not None:
                        yield rows
                    start = end
        except OSError as error:
            raise self._refused(
                path, f"cannot be read: {error}", "Mend the file, or take it out of the folder."
            ) from None

    def _readable(self, path: str) -> str:
        name = local(path)
        folder = value_folder(name, self.base, [column for column, _ in self.columns])
        if folder is None and not name.endswith(_PACKED):
            return name
        why = f"is in a folder that is the value of a column, {folder}" if folder else "is packed"
        raise self._refused(path, why, "Have Spark read the files: 'reader' = 'spark'.")

    def _after_header(self, file: BinaryIO, path: str) -> int:
        """Where rows begin."""
        if file.read(len(BOM)) != BOM:
            file.seek(0)
        if not self.header:
            return file.tell()
        line = b"\n"
        while line and not line.strip(b"\r\n"):
            line = file.readline()
        declared = [name for name, _ in self.columns]
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        found = next(csv.reader([text], delimiter=self.delimiter), [])
        if line and [name.lower() for name in found] != [name.lower() for name in declared]:
            raise self._refused(
                path,
                f"begins with {text!r}, and the source has the columns {', '.join(declared)}",
                "Declare the file's columns, all and in its order, or set 'header' = 'false' if "
                "its first line is a row.",
            )
        return file.tell()

    def _refused(self, path: str, why: str, fix: str) -> RunError:
        return RunError("MS-RUN-CSV", f"source {self.source}: {path} {why}.", fix=fix)


def _line_from(file: BinaryIO, first: int, place: int) -> int:
    """The beginning of the first line that begins at a place or after it."""
    if place <= first:
        return first
    file.seek(place - 1)
    file.readline()
    return file.tell()
