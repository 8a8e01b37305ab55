"""Keyed tables: rows in state that kernels find by key, remove, append and expire by time.

    tables = Tables(state, (TableSpec(("k0", "k1")),), COUNTS, settings)   # reads only "meta"
    groups = tables[0]                        # tables by number, in the given order
    if nothing_new and groups.earliest >= time:
        return StepResult(counts=dict(tables.counts))
    found = groups.probe(frame)               # pairs (new row, stored row) of one key, at any time
    found = groups.probe(frame, -gap, gap)    # … stored time - new time in [lower, upper]
    found.new, found.rows(["sum"])            # row numbers in `frame`; their stored rows
    groups.remove(found)                      # or some pairs: found.filter(flags)
    groups.append(frame)                      # new rows, or new values of found ones
    frame = groups.take_before(time)          # removes and returns rows with _t < time
    frame = groups.scan(start, stop)          # rows with start <= _t < stop, which stay
    count = groups.expire(time)               # removes rows with _t < time, unread
    evicted = tables.evict(limit, "aggregate")  # evicted rows by table; or an error
    tables.close(after)                       # writes; counts state_rows, state_bytes, …

Frames have `_h` (see `fill_null_hashes`) and `_t`, whose meaning for stored rows is up to the
kernel: the end of a window, the time of the last row, END_OF_TIME. All frames of one table have the
same columns and types. Keys are equal if their hashes and all key columns are equal; NULL equals
NULL.

Rows are immutable: to change a value, a kernel removes the row and appends another one. Segments
with mostly removed rows are rewritten, so at most half of the rows of a scan are wasted, and a
removed row costs no more than writing a live row a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.errors import StateError
from millstream.kernels.core.frames import FEW_ROWS, stack, take
from millstream.kernels.core.hashing import NULL_HASH
from millstream.kernels.core.kernel import HASH, TIME, State
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order
from millstream.kernels.state import limits
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest, Segment
from millstream.kernels.state.segment_log import Layout, SegmentLog
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    StateLimit,
)

STATE_COUNTS = ("state_rows", "state_bytes", "peak_rows", "segments")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """The key columns of a table."""

    keys: tuple[str, ...]
    hash_is_key: bool = False  # `_h` is the only key, an integer
    removable: bool = True  # False if rows only expire by time: no flags are stored

    @property
    def layout(self) -> Layout:
        stored = (
            self.hash_is_key and self.keys[0] != HASH
        )  # otherwise the hash is a column of its own
        hash_column = self.keys[0] if stored else None
        return Layout(hash_column, has_match_flags=self.removable, removes_matched=self.removable)


class _Pairs(NamedTuple):
    segment: Segment
    rows: Rows
    new: Ints
    stored: Ints


class RowMatches:
    """Pairs of a row that was looked up and a stored row."""

    def __init__(self, parts: list[_Pairs]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(part.new.size for part in self.parts)

    @cached_property
    def new(self) -> Ints:
        """The row number of each pair's new row in the frame that was looked up."""
        parts = [part.new for part in self.parts]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def rows(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Returns the stored row of each pair. There must be pairs: an empty table has no types."""
        names = list(columns) if columns is not None else self.parts[0].rows.frame.columns
        frames = [part.rows.frame[:, names] for part in self.parts]
        if len(self) > FEW_ROWS or len(frames) == 1:
            taken = [
                take(frame, part.stored) for frame, part in zip(frames, self.parts, strict=True)
            ]
            return stack(taken)
        starts = np.cumsum([0, *(frame.height for frame in frames[:-1])])
        numbers = [part.stored + start for part, start in zip(self.parts, starts, strict=True)]
        return take(stack(frames), np.concatenate(numbers))

    def filter(self, keep: Bools) -> RowMatches:
        """Returns the pairs for which `keep` is true."""
        retained, start = [], 0
        for part in self.parts:
            flags = keep[start : start + part.new.size]
            start += part.new.size
            retained.append(part._replace(new=part.new[flags], stored=part.stored[flags]))
        return RowMatches([part for part in retained if part.new.size])


class Table:
    """One table of a key group."""

    def __init__(self, tables: Tables, number: int, table_spec: TableSpec) -> None:
        self._tables = tables
        self._number = number
        self._spec = table_spec

    @property
    def _log(self) -> SegmentLog:
        return self._tables.log

    @property
    def segments(self) -> list[Segment]:
        return self._tables.manifest.tables[self._number]

    @property
    def row_count(self) -> int:
        return sum(segment.live_rows for segment in self.segments)

    @property
    def earliest(self) -> int:
        """The time of the earliest live row, or a lower bound of it; END_OF_TIME if the table is
        empty."""
        return min((segment.first for segment in self.segments), default=END_OF_TIME)

    def probe(
        self, frame: pl.DataFrame, lower: int | None = None, upper: int | None = None
    ) -> RowMatches:
        """Finds stored rows with the key of a row of `frame`, and time difference in [lower,
        upper].

        The difference is the stored row's time minus the new row's; without bounds, rows of all
        times are found. If a key has many rows on both sides, look up one row per key: all pairs
        are created at once.
        """
        parts: list[_Pairs] = []
        if not frame.height or not self.segments:
            return RowMatches(parts)
        hashes, order = frame[HASH].to_numpy(), None
        timed = lower is not None or upper is not None
        times = frame[TIME].to_numpy() if timed else np.zeros(frame.height, np.int64)
        low = BEGIN_OF_TIME if lower is None else lower
        high = END_OF_TIME if upper is None else upper
        index = KeyIndex.of(hashes, times)
        if not index.unique and (order := time_order(times)) is not None:
            index = KeyIndex.of(hashes[order], times[order])
        first, last = int(times.min()), int(times.max())
        for segment, rows in self.overlapping(first + low, last + high):
            for new, stored in index.pairs(rows.index, low, high, skip=segment.skip):
                numbers = new if order is None else order[new]
                part = self._of_one_key(frame, _Pairs(segment, rows, numbers, stored))
                if part.new.size:
                    parts.append(part)
        return RowMatches(parts)

    def _of_one_key(self, frame: pl.DataFrame, part: _Pairs) -> _Pairs:
        """Drops pairs with removed rows, and pairs that have equal hashes but different keys."""
        if part.segment.removed and part.rows.matched is not None:
            part = _filtered(part, ~part.rows.matched[part.stored])
        if not part.new.size or not self._spec.keys:
            return part
        if not self._spec.hash_is_key:
            return _filtered(part, self._same_keys(frame, part))
        doubtful = frame[HASH].to_numpy()[part.new] == NULL_HASH
        if not doubtful.any():
            return part
        keep = ~doubtful
        keep[doubtful] = self._same_keys(frame, _filtered(part, doubtful))
        return _filtered(part, keep)

    def _same_keys(self, frame: pl.DataFrame, part: _Pairs) -> Bools:
        names = list(self._spec.keys)
        own_rows, other_rows = (
            take(frame[:, names], part.new),
            take(part.rows.frame[:, names], part.stored),
        )
        same = np.ones(part.new.size, np.bool_)
        for name in names:
            same &= own_rows[name].eq_missing(other_rows[name]).to_numpy()
        return same

    def remove(self, found: RowMatches) -> int:
        """Removes the stored rows of these pairs; returns how many."""
        return sum(self.remove_rows(part.segment, part.stored).size for part in found.parts)

    def rows(self, segment: Segment) -> Rows:
        """Returns the rows of one of the table's segments."""
        return self._log.rows(self._number, segment)

    def overlapping(self, start: int, stop: int) -> Iterator[tuple[Segment, Rows]]:
        """Yields segments with rows whose time may be in [start, stop]."""
        return self._log.overlapping(self._number, start, stop)

    def remove_rows(self, segment: Segment, numbers: Ints) -> Ints:
        """Removes rows of a segment by number; returns those that were not removed before."""
        return self._log.set_flags(self._number, segment, numbers)

    def append(self, frame: pl.DataFrame, live_from: int = BEGIN_OF_TIME) -> None:
        """Appends rows. `live_from`: rows before it will expire soon, if rows expire by time."""
        if not frame.height:
            return
        names = [name for name in frame.columns if name not in {TIME, HASH}]
        frame = frame[:, [*names, TIME, HASH]].rechunk()
        flags = np.zeros(frame.height, np.bool_) if self._spec.removable else None
        rows = Rows.of(frame, flags)
        self._log.append(self._number, rows, live_from, tidy=True)

    def take_before(self, time: int) -> pl.DataFrame | None:
        """Removes rows older than `time` and returns them, oldest first within a segment; None if
        there are none."""
        frames = []
        for segment in self.segments:
            if segment.first >= time:
                continue
            rows = self.rows(segment)
            stop = rows.rows_before(time)
            numbers = self._log.live_numbers(self._number, segment)
            numbers = numbers[: np.searchsorted(numbers, stop)]
            if numbers.size:
                frames.append(take(rows.frame, numbers))
            self._log.skip_to(self._number, segment, stop)
        return stack(frames) if frames else None

    def scan(self, start: int, stop: int) -> pl.DataFrame | None:
        """Returns rows with `start` <= _t < `stop` without removing them; None if there are
        none."""
        frames = []
        for segment, rows in self.overlapping(start, stop - 1):
            numbers = self._log.live_numbers(self._number, segment)
            first, last = rows.rows_before(start), rows.rows_before(stop)
            numbers = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last)]
            if numbers.size:
                frames.append(take(rows.frame, numbers))
        return stack(frames) if frames else None

    def expire(self, time: int) -> int:
        """Removes rows older than `time`; returns how many."""
        return self._log.expire(self._number, time)

    def tidy(self) -> None:
        self._log.tidy(self._number)


class Tables:
    """The tables of a key group, for one step."""

    def __init__(
        self,
        state: State,
        tables: Sequence[TableSpec],
        counts: Sequence[str] = (),
        settings: LogSettings | None = None,
    ) -> None:
        self._state = state
        self._settings = settings or LogSettings()
        self._table_specs = tables
        self._meta = state.value("meta")
        self.manifest = Manifest.load(self._meta.get(), len(tables))
        self.counts = dict.fromkeys((*counts, *STATE_COUNTS), 0) | self.manifest.counts
        self.manifest.counts = self.counts
        self._tables = [Table(self, number, keyed) for number, keyed in enumerate(tables)]

    def __getitem__(self, number: int) -> Table:
        return self._tables[number]

    @property
    def watermark(self) -> int:
        """The watermark after the last step that changed state."""
        return self.manifest.watermark

    @cached_property
    def log(self) -> SegmentLog:
        layouts = [keyed.layout for keyed in self._table_specs]
        return SegmentLog(self._state.map("segments"), self.manifest, layouts, self._settings)

    def evict(self, limit: StateLimit, operator: str) -> dict[int, pl.DataFrame]:
        """Applies a limit: returns evicted rows by table, the oldest first, or raises an error."""
        evicted: dict[int, pl.DataFrame] = {}
        try:
            evicting = limits.enforce(self.log, limit)
        except StateError as error:
            raise StateError(
                error.code,
                error.cause.replace("the join", f"the {operator}"),
                fix=error.fix.replace(
                    "narrow the join's time bound", "shorten the retention of rows"
                ),
            ) from None
        for table, rows, numbers in evicting:
            frame = take(rows.frame, numbers)
            evicted[table] = evicted[table].vstack(frame) if table in evicted else frame
        return evicted

    def close(self, watermark: int) -> None:
        """Writes the changes of this step."""
        self.log.drop_empty()
        for table in self._tables:
            table.tidy()
        rows, counts = self.log.row_count, self.counts
        counts["state_rows"] = rows
        counts["state_bytes"] = self.log.byte_count
        counts["segments"] = sum(1 for _ in self.manifest.segments())
        counts["peak_rows"] = max(counts["peak_rows"], rows)
        self.manifest.watermark = watermark
        self.log.flush()
        self._meta.put(self.manifest.dump())


def _filtered(part: _Pairs, keep: Bools) -> _Pairs:
    if keep.all():
        return part
    return part._replace(new=part.new[keep], stored=part.stored[keep])
