"""Checks that the key of a table identifies its rows: no duplicates, no overlapping intervals.

| temporal mode | rows with the same key                                                        |
|---------------|-------------------------------------------------------------------------------|
| `none`        | an error                                                                      |
| `period`      | an error if they have the same `_period`                                      |
| `bitemporal`  | an error if their intervals `[_period_from, _period_to)` have a day in common |

NULL is a value like others: two rows whose key is NULL are duplicates. In the bitemporal mode a
NULL end is open. A row that is valid on no day (its end is not after its start, or its start is
NULL) overlaps nothing.

Memory is bounded: beyond `limit` rows, keys are written to temporary files, partitioned by a hash
of the key, and each partition is checked on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import polars as pl
import pyarrow as pa

from millstream.catalog.model import PERIOD_FROM, PERIOD_TO, Dataset, Table, TemporalMode
from millstream.catalog.publishing.key_errors import Duplicates, KeyConflict

LIMIT = 2_000_000  # rows in memory
_PARTITIONS = 64
_FILE, _ROW = "_millstream_file", "_millstream_row"
_OTHER_FILE, _OTHER_ROW = "_millstream_other_file", "_millstream_other_row"
_OTHER_START, _OTHER_END = "_millstream_other_start", "_millstream_other_end"
_PARTITION, _SAME_KEY = "_millstream_partition", "_millstream_same_key"
_ORDER = (_FILE, _ROW)


@dataclass(slots=True)
class KeyCheck:
    """Collects the keys of a version's rows, and finds duplicates. A context manager, as it may
    have temporary files. Without a key in the table it does nothing."""

    table: Table
    limit: int = LIMIT
    _files: list[str] = field(default_factory=list)
    _rows_of_file: int = 0
    _buffer: list[pl.DataFrame] = field(default_factory=list)
    _buffered: int = 0
    _folder: TemporaryDirectory[str] | None = None
    _parts: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that batches must have: the key, and the columns of the temporal mode."""
        if not self.table.key:
            return ()
        return (*self.table.key, *(each.name for each in self.table.temporal_columns))

    def start_file(self, path: str) -> None:
        """Rows that are added from now on are in this file."""
        self._files.append(path)
        self._rows_of_file = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows, in the order of the file."""
        first, self._rows_of_file = self._rows_of_file + 1, self._rows_of_file + batch.num_rows
        if not self.table.key or not batch.num_rows:
            return
        frame = pl.DataFrame(
            {name: pl.from_arrow(batch.column(name)) for name in self.columns}
        ).with_columns(
            pl.lit(len(self._files) - 1, pl.Int32).alias(_FILE),
            pl.int_range(first, first + batch.num_rows, dtype=pl.Int64).alias(_ROW),
        )
        self._buffer.append(frame)
        self._buffered += frame.height
        if self._buffered >= self.limit:
            self._spill()

    def require_unique(self, dataset: Dataset) -> None:
        """Raises MS-CATALOG-KEY-DUPLICATE, which shows rows of a few keys."""
        duplicates = self.duplicates()
        if duplicates is not None:
            raise duplicates.error(dataset)

    def duplicates(self) -> Duplicates | None:
        """Returns the first conflicts of rows, and the number of keys with conflicts."""
        found: list[KeyConflict] = []
        keys = 0
        for part in self._partitions():
            conflicts = self._conflicts(part)
            keys += conflicts.height
            found += map(self._conflict, conflicts.head(Duplicates.SHOWN).iter_rows(named=True))
        if not keys:
            return None
        found.sort(key=lambda each: each.order)
        return Duplicates(tuple(found[: Duplicates.SHOWN]), keys)

    def _conflicts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns one conflict of each key: a row, and the row after it in the order of starts."""
        key: Sequence[str] = self.table.key
        if self.table.temporal_mode is TemporalMode.BITEMPORAL:
            start, end = pl.col(PERIOD_FROM.name), pl.col(PERIOD_TO.name)
            rows = rows.filter(start.is_not_null(), end.is_null() | (end > start))
            rows = rows.sort(*key, start, *_ORDER, nulls_last=True)
            # Of intervals ordered by their starts, two overlap only if two neighbours do.
            overlaps = pl.col(_OTHER_END).is_null() | (start < pl.col(_OTHER_END))
        else:
            key = self.columns
            rows = rows.sort(*key, *_ORDER)
            overlaps = pl.lit(True)
        others = [pl.col(name).shift(1).alias(new) for name, new in self._others()]
        same_key = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in key)
        return (
            rows.with_columns(*others, same_key.alias(_SAME_KEY))
            .filter(pl.col(_SAME_KEY), pl.col(_OTHER_ROW).is_not_null(), overlaps)
            .unique(key, keep="first", maintain_order=True)
            .sort(*_ORDER)
        )

    def _others(self) -> Iterator[tuple[str, str]]:
        yield from ((_FILE, _OTHER_FILE), (_ROW, _OTHER_ROW))
        if self.table.temporal_mode is TemporalMode.BITEMPORAL:
            yield from ((PERIOD_FROM.name, _OTHER_START), (PERIOD_TO.name, _OTHER_END))

    def _conflict(self, row: dict[str, Any]) -> KeyConflict:
        key = self.table.key
        intervals: tuple[tuple[date, date | None], ...] = ()
        if self.table.temporal_mode is TemporalMode.BITEMPORAL:
            intervals = (
                (row[_OTHER_START], row[_OTHER_END]),
                (row[PERIOD_FROM.name], row[PERIOD_TO.name]),
            )
        else:
            key = self.columns
        rows = ((row[_OTHER_FILE], row[_OTHER_ROW]), (row[_FILE], row[_ROW]))
        return KeyConflict(
            tuple((name, row[name]) for name in key),
            tuple((self._files[file], number) for file, number in rows),
            intervals,
            order=max(rows),
        )

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="millstream-key-")
        rows = pl.concat(self._buffer)
        number = rows.select(*self.table.key).hash_rows(seed=1) % _PARTITIONS
        parts = rows.with_columns(number.alias(_PARTITION)).partition_by(
            _PARTITION, as_dict=True, include_key=False
        )
        for (partition,), part in parts.items():
            folder = Path(self._folder.name) / str(partition)
            folder.mkdir(exist_ok=True)
            part.write_ipc(folder / f"{self._parts}.arrow")
        self._parts += 1
        self._buffer, self._buffered = [], 0

    def _partitions(self) -> Iterator[pl.DataFrame]:
        if self._folder is None:
            if self._buffer:
                yield pl.concat(self._buffer)
            return
        if self._buffer:
            self._spill()
        for folder in sorted(Path(self._folder.name).iterdir()):
            yield pl.concat([pl.read_ipc(each) for each in sorted(folder.iterdir())])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()
