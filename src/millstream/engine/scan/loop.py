"""Reads work items, such as files, on executors (`connectors/work_items.py`).

Spark's readers convert rows to Arrow one by one; Arrow reads the same file as columns in a tenth of
the time. So Spark streams only the names of work items and logs them, and executors open the items
with the reader of the connector:

    work items ──▶ packer: reads, packs ──▶ shuffle     if it needs column references only (`Scan`)
    work items ──▶ mapInArrow: reads ──▶ rows           otherwise (`engine/compile/scan_rows.py`)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.work_items import ITEM, PART, Reader
from millstream.engine.scan.predicates import ScanPredicate
from millstream.engine.scan.window_bounds import WindowBound

KEEP = "_ms_keep"  # false: the row is filtered out, but its time still counts for the watermark


def read_items(
    batches: Iterable[pa.RecordBatch],
    reader: Reader,
    wanted: Mapping[str, pa.DataType],
    parts: int,
) -> Iterator[tuple[pa.RecordBatch, dict[str, Any], pa.Schema]]:
    """Reads work items. Returns rows, the other columns of the item's row, and the schema of that
    row. If items are split, the row has the number of the part to read."""
    for batch in batches:
        for row in batch.to_pylist():
            item, part = row.pop(ITEM), row.pop(PART, 0)
            for rows in reader.read(item, wanted, part, parts):
                yield rows, row, batch.schema


@dataclass(frozen=True, slots=True)
class ScannedColumn:
    """A column that is read: the name that Spark would send it by, its own name, and its type."""

    sent: str
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Scan:
    """How a packer reads files by their names.

    Other columns that Spark sends with a name are the same for all rows of the file.

    Attributes:
        reader: Reads a file.
        columns: The columns that are read.
        flags: Predicates on the columns of files, each with the name of its result.
        window_bounds: Window bounds, each with the name of its result.
        parts: How many parts a file is split into.
    """

    reader: Reader
    columns: tuple[ScannedColumn, ...]
    flags: tuple[tuple[str, ScanPredicate], ...] = ()
    window_bounds: tuple[tuple[str, WindowBound], ...] = ()
    parts: int = 1

    @property
    def wanted(self) -> dict[str, pa.DataType]:
        return {each.name: each.type for each in self.columns}

    def size_of(self, path: str | None) -> int:
        return 0 if path is None else self.reader.size_of(path, self.wanted)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch, row, schema in read_items(batches, self.reader, self.wanted, self.parts):
            yield _with_constants(self._computed(batch), row, schema)

    def _computed(self, read: pa.RecordBatch) -> pa.RecordBatch:
        columns = {each.sent: read.column(each.name) for each in self.columns}
        own = read.schema.names[len(self.wanted) :]
        columns |= {name: read.column(name) for name in own}
        found = dict(zip(read.schema.names, read.columns, strict=True))
        for name, condition in self.flags:
            columns[name] = pc.fill_null(condition.evaluate(found), False)
        for name, window_bound in self.window_bounds:
            columns[name] = window_bound.evaluate(found[window_bound.column])
        return pa.RecordBatch.from_pydict(columns)


def _with_constants(
    read: pa.RecordBatch, same: Mapping[str, Any], types: pa.Schema
) -> pa.RecordBatch:
    for name, value in same.items():
        repeated = pa.repeat(pa.scalar(value, types.field(name).type), read.num_rows)
        read = read.append_column(name, repeated)
    return read
