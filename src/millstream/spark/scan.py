"""Files that a packer reads itself.

Spark hands a row at a time from its readers to Arrow; Arrow reads the same file as columns, in a
tenth of the time. So where a packer needs plain columns of plain files, Spark streams the files'
names, with the same log of what was read, and the packer opens them.

    names of files ──▶ packer: reads, packs ──▶ exchange
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.names import PART, PATH, ReportedFiles
from millstream.spark.conditions import Condition
from millstream.spark.moments import Moment

KEEP = "_ms_keep"  # false: the row is filtered out, but its time still counts for the watermark


class Reader(Protocol):
    """Reads the files of one source, in one format. A part is worth a task of its own if it is of
    `least_part` bytes or more."""

    least_part: ClassVar[int]

    def size_of(self, path: str, asked: Mapping[str, pa.DataType]) -> int:
        """Bytes of a file that are read for some columns; 0 if it cannot be read."""

    def read(
        self, path: str, asked: Mapping[str, pa.DataType], part: int, parts: int
    ) -> Iterator[pa.RecordBatch]:
        """The columns asked for, in that order, and any that are the reader's own."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A column of the files: the name that it is sent by, its own, and its type."""

    sent: str
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Scan:
    """How a packer reads the files whose names it is sent. Other columns that are sent with a name
    are the same for all its rows. `flags` are conditions over the names of the files' columns, by
    the names of the columns that they make; so are `moments`. With `parts`, a name comes with the
    one that is to be read."""

    reader: Reader
    columns: tuple[Scanned, ...]
    flags: tuple[tuple[str, Condition], ...] = ()
    moments: tuple[tuple[str, Moment], ...] = ()
    parts: int = 1
    reported: ReportedFiles | None = None

    @property
    def asked(self) -> dict[str, pa.DataType]:
        return {each.name: each.type for each in self.columns}

    def size_of(self, path: str | None) -> int:
        return 0 if path is None else self.reader.size_of(path, self.asked)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for sent in batch.to_pylist():
                path, part = sent.pop(PATH), sent.pop(PART, 0)
                if self.reported is not None:
                    self.reported.add(path)
                types = {name: batch.schema.field(name).type for name in sent}
                for read in self.reader.read(path, self.asked, part, self.parts):
                    yield _with(self._sent(read), sent, types)

    def _sent(self, read: pa.RecordBatch) -> pa.RecordBatch:
        columns = {each.sent: read.column(each.name) for each in self.columns}
        own = read.schema.names[len(self.asked) :]
        columns |= {name: read.column(name) for name in own}
        found = dict(zip(read.schema.names, read.columns, strict=True))
        for name, condition in self.flags:
            columns[name] = pc.fill_null(condition.decided(found), False)
        for name, moment in self.moments:
            columns[name] = moment.made(found[moment.column])
        return pa.RecordBatch.from_pydict(columns)


def _with(
    read: pa.RecordBatch, same: Mapping[str, Any], types: Mapping[str, pa.DataType]
) -> pa.RecordBatch:
    for name, value in same.items():
        read = read.append_column(name, pa.repeat(pa.scalar(value, types[name]), read.num_rows))
    return read
