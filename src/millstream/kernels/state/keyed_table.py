"""Keyed tables: rows of state that a kernel finds by key, takes out, puts in and lets go by time.

    tables = Tables(state, (Keyed(("k0", "k1")),), COUNTS, settings)   # reads "meta" alone
    groups = tables[0]                        # tables by number, in the order given
    if nothing_new and groups.earliest >= time:
        return StepResult(counts=dict(tables.counts))
    found = groups.probe(frame)               # pairs (new row, held row) of one key, at any time
    found = groups.probe(frame, -gap, gap)    # … held time - new time in [lower, upper]
    found.new, found.rows(["sum"])            # numbers of rows in `frame`; their held rows
    groups.remove(found)                      # or of some pairs: found.only(flags)
    groups.append(frame)                      # the new rows, or the new values of found ones
    frame = groups.due(time)                  # takes out the rows with _t < time
    frame = groups.scan(start, stop)          # rows with start <= _t < stop, which stay
    count = groups.expire(time)               # the same, unread
    evicted = tables.evict(limit, "aggregate")  # by table: rows that had to go; or an error
    tables.close(after)                       # writes; counts state_rows, state_bytes, …

And of rows that come in:

    rows, late, reassigned = judge(frame, clock.before, policy)
    codes, first = group(frame, keys)         # a number for each row's key; a row of each key

Frames have `_h` (see `hashed`) and `_t`, which of a held row is what the kernel wants it to be: the
end of a window, the time of the last row, END_OF_TIME. All frames given to one table have the same
columns and types. Keys are equal if their hashes and all key columns are; NULL equals NULL.

Rows are never changed: a new value is a row removed and one put in. Segments of which removed rows
are the greater part are written anew, so at most half of what a scan meets is waste, and a removed
row costs no more than a second writing of one that is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.errors import StateError
from millstream.kernels.core.kernel import HASH, LATENESS, TIME, State
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order
from millstream.kernels.state import limits
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest, Segment
from millstream.kernels.state.segment_log import NULL_HASH, Layout, SegmentLog
from millstream.kernels.state.sorted_rows import FEW_ROWS, Rows, stack, take
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    LateAction,
    LatePolicy,
    StateLimit,
)

STATE_COUNTS = ("state_rows", "state_bytes", "peak_rows", "segments")


@dataclass(frozen=True, slots=True)
class Keyed:
    """A table's key columns."""

    keys: tuple[str, ...]
    hash_is_key: bool = False  # `_h` is the one integer key itself
    removable: bool = True  # if rows go by time alone, no marks are kept

    @property
    def layout(self) -> Layout:
        held = self.hash_is_key and self.keys[0] != HASH  # else it is a column of its own
        hash_from = self.keys[0] if held else None
        return Layout(hash_from, marked=self.removable, once=self.removable)


def hashed(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with a number for a hash that is NULL; without keys, all rows have the same."""
    if HASH not in frame.columns:
        return frame.with_columns(pl.lit(NULL_HASH, pl.Int64).alias(HASH))
    if not frame[HASH].null_count():
        return frame
    return frame.with_columns(pl.col(HASH).fill_null(NULL_HASH))


class Judged(NamedTuple):
    rows: pl.DataFrame
    late: pl.DataFrame | None  # with all they came with, and how late they are
    reassigned: int = 0


def judge(frame: pl.DataFrame, before: int, policy: LatePolicy) -> Judged:
    """Rows older than the watermark apart from the others, or given its time, as `policy` says."""
    times = frame[TIME].to_numpy()
    if not frame.height or int(times.min()) >= before:
        return Judged(frame, None)
    reassigned = 0
    if policy.action is LateAction.REASSIGN:
        pardoned = (times < before) & (before - times <= policy.budget)
        reassigned = int(np.count_nonzero(pardoned))
        times = np.where(pardoned, before, times)
        frame = frame.with_columns(pl.Series(TIME, times))
    behind = times < before
    if not behind.any():
        return Judged(frame, None, reassigned)
    late = frame.filter(behind).with_columns((before - pl.col(TIME)).alias(LATENESS))
    return Judged(frame.filter(~behind), late, reassigned)


def index_by_key(frame: pl.DataFrame, keys: Sequence[str], times: Ints) -> KeyIndex:
    """The frame's rows by key, not by hash alone. Rows of one key are in the frame's order."""
    names = list(keys)
    index = KeyIndex.of(frame[HASH].to_numpy(), times)
    if index.unique or not names:
        return index
    again = np.ones(len(index), np.bool_)
    again[index.run_starts] = False
    places = np.flatnonzero(again)
    content = frame[:, names]
    one, two = take(content, index.order[places - 1]), take(content, index.order[places])
    if all(one[name].eq_missing(two[name]).all() for name in names):
        return index
    numbered = content.with_row_index("_n")
    numbers = numbered.select(pl.col("_n").first().over(names).cast(pl.Int64))["_n"]
    return KeyIndex.of(numbers.to_numpy(), times)


class Groups(NamedTuple):
    codes: Ints
    first: Ints


def group(frame: pl.DataFrame, keys: Sequence[str]) -> Groups:
    """Of each row the number of its key, from 0; of each key its first row."""
    index = index_by_key(frame, keys, np.zeros(frame.height, np.int64))
    starts = np.zeros(len(index), np.int64)
    starts[index.run_starts[1:]] = 1
    codes = np.empty(len(index), np.int64)
    codes[index.order] = np.cumsum(starts)
    return Groups(codes, index.order[index.run_starts])


class _Pairs(NamedTuple):
    segment: Segment
    rows: Rows
    new: Ints
    held: Ints


class Found:
    """Pairs of a row looked up and a held row."""

    def __init__(self, parts: list[_Pairs]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(part.new.size for part in self.parts)

    @cached_property
    def new(self) -> Ints:
        """The number of each pair's new row in the frame that was looked up."""
        parts = [part.new for part in self.parts]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def rows(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Each pair's held row. Ask only if there are pairs: a table without rows has no types."""
        names = list(columns) if columns is not None else self.parts[0].rows.frame.columns
        frames = [part.rows.frame[:, names] for part in self.parts]
        if len(self) > FEW_ROWS or len(frames) == 1:
            taken = [take(frame, part.held) for frame, part in zip(frames, self.parts, strict=True)]
            return stack(taken)
        starts = np.cumsum([0, *(frame.height for frame in frames[:-1])])
        numbers = [part.held + start for part, start in zip(self.parts, starts, strict=True)]
        return take(stack(frames), np.concatenate(numbers))

    def only(self, keep: Bools) -> Found:
        """The pairs that `keep` marks."""
        kept, start = [], 0
        for part in self.parts:
            flags = keep[start : start + part.new.size]
            start += part.new.size
            kept.append(part._replace(new=part.new[flags], held=part.held[flags]))
        return Found([part for part in kept if part.new.size])


class Table:
    def __init__(self, tables: Tables, number: int, keyed: Keyed) -> None:
        self._tables = tables
        self._number = number
        self._keyed = keyed

    @property
    def _log(self) -> SegmentLog:
        return self._tables.log

    @property
    def segments(self) -> list[Segment]:
        return self._tables.manifest.tables[self._number]

    @property
    def held(self) -> int:
        return sum(segment.held for segment in self.segments)

    @property
    def earliest(self) -> int:
        """No held row is older; END_OF_TIME if there is none."""
        return min((segment.first for segment in self.segments), default=END_OF_TIME)

    def probe(
        self, frame: pl.DataFrame, lower: int | None = None, upper: int | None = None
    ) -> Found:
        """Held rows with the key of a row of `frame`, and whose time less its time lies in
        [lower, upper]; of all times if neither is given.

        Where many rows of a key meet many, give one row a key: all pairs are made at once.
        """
        parts: list[_Pairs] = []
        if not frame.height or not self.segments:
            return Found(parts)
        hashes, order = frame[HASH].to_numpy(), None
        timed = lower is not None or upper is not None
        times = frame[TIME].to_numpy() if timed else np.zeros(frame.height, np.int64)
        low = BEGIN_OF_TIME if lower is None else lower
        high = END_OF_TIME if upper is None else upper
        index = KeyIndex.of(hashes, times)
        if not index.unique and (order := time_order(times)) is not None:
            index = KeyIndex.of(hashes[order], times[order])
        first, last = int(times.min()), int(times.max())
        for segment, rows in self.reaching(first + low, last + high):
            for new, held in index.pairs(rows.index, low, high, skip=segment.skip):
                numbers = new if order is None else order[new]
                part = self._of_one_key(frame, _Pairs(segment, rows, numbers, held))
                if part.new.size:
                    parts.append(part)
        return Found(parts)

    def _of_one_key(self, frame: pl.DataFrame, part: _Pairs) -> _Pairs:
        """Without rows removed earlier, and without those that share but the hash."""
        if part.segment.gone and part.rows.matched is not None:
            part = _filtered(part, ~part.rows.matched[part.held])
        if not part.new.size or not self._keyed.keys:
            return part
        if not self._keyed.hash_is_key:
            return _filtered(part, self._same_keys(frame, part))
        doubtful = frame[HASH].to_numpy()[part.new] == NULL_HASH
        if not doubtful.any():
            return part
        keep = ~doubtful
        keep[doubtful] = self._same_keys(frame, _filtered(part, doubtful))
        return _filtered(part, keep)

    def _same_keys(self, frame: pl.DataFrame, part: _Pairs) -> Bools:
        names = list(self._keyed.keys)
        mine, theirs = take(frame[:, names], part.new), take(part.rows.frame[:, names], part.held)
        same = np.ones(part.new.size, np.bool_)
        for name in names:
            same &= mine[name].eq_missing(theirs[name]).to_numpy()
        return same

    def remove(self, found: Found) -> int:
        """Takes out the held rows of these pairs, each once; gives how many."""
        return sum(self.mark(part.segment, part.held).size for part in found.parts)

    def rows(self, segment: Segment) -> Rows:
        """The rows of one of the table's segments."""
        return self._log.rows(self._number, segment)

    def reaching(self, start: int, stop: int) -> Iterator[tuple[Segment, Rows]]:
        """Segments with rows whose time may lie in [start, stop]."""
        return self._log.reaching(self._number, start, stop)

    def mark(self, segment: Segment, numbers: Ints) -> Ints:
        """Removes rows of a segment by number; returns those that were in it."""
        return self._log.mark(self._number, segment, numbers)

    def append(self, frame: pl.DataFrame, live_from: int = BEGIN_OF_TIME) -> None:
        """Puts rows in. `live_from`: rows before it will soon be let go, if any go by time."""
        if not frame.height:
            return
        names = [name for name in frame.columns if name not in {TIME, HASH}]
        frame = frame[:, [*names, TIME, HASH]].rechunk()
        marks = np.zeros(frame.height, np.bool_) if self._keyed.removable else None
        rows = Rows.of(frame, marks)
        self._log.append(self._number, rows, live_from, tidy=True)

    def due(self, time: int) -> pl.DataFrame | None:
        """Takes out the rows older than `time`, oldest first within a segment; None if none is."""
        frames = []
        for segment in self.segments:
            if segment.first >= time:
                continue
            rows = self.rows(segment)
            stop = rows.rows_before(time)
            numbers = self._log.held_numbers(self._number, segment)
            numbers = numbers[: np.searchsorted(numbers, stop)]
            if numbers.size:
                frames.append(take(rows.frame, numbers))
            self._log.skip_to(self._number, segment, stop)
        return stack(frames) if frames else None

    def scan(self, start: int, stop: int) -> pl.DataFrame | None:
        """The rows with `start` <= _t < `stop`, which stay; None if there are none."""
        frames = []
        for segment, rows in self.reaching(start, stop - 1):
            numbers = self._log.held_numbers(self._number, segment)
            first, last = rows.rows_before(start), rows.rows_before(stop)
            numbers = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last)]
            if numbers.size:
                frames.append(take(rows.frame, numbers))
        return stack(frames) if frames else None

    def expire(self, time: int) -> int:
        """Lets go of the rows older than `time`; gives how many."""
        return self._log.expire(self._number, time)

    def tidy(self) -> None:
        self._log.tidy(self._number)


class Tables:
    """The tables of a key group, for one step."""

    def __init__(
        self,
        state: State,
        tables: Sequence[Keyed],
        counts: Sequence[str] = (),
        settings: LogSettings | None = None,
    ) -> None:
        self._state = state
        self._settings = settings or LogSettings()
        self._keyed = tables
        self._meta = state.value("meta")
        self.manifest = Manifest.load(self._meta.get(), len(tables))
        self.counts = dict.fromkeys((*counts, *STATE_COUNTS), 0) | self.manifest.counts
        self.manifest.counts = self.counts
        self._tables = [Table(self, number, keyed) for number, keyed in enumerate(tables)]

    def __getitem__(self, number: int) -> Table:
        return self._tables[number]

    @property
    def watermark(self) -> int:
        """That of the last step which changed state."""
        return self.manifest.watermark

    @cached_property
    def log(self) -> SegmentLog:
        layouts = [keyed.layout for keyed in self._keyed]
        return SegmentLog(self._state.map("segments"), self.manifest, layouts, self._settings)

    def evict(self, limit: StateLimit, operator: str) -> dict[int, pl.DataFrame]:
        """Rows, by table, that a limit lets go, the oldest first; or fails, as the limit says."""
        evicted: dict[int, pl.DataFrame] = {}
        try:
            going = limits.enforce(self.log, limit)
        except StateError as error:
            raise StateError(
                error.code,
                error.cause.replace("the join", f"the {operator}"),
                fix=error.fix.replace("narrow the join's time bound", "hold rows for less time"),
            ) from None
        for table, rows, numbers in going:
            frame = take(rows.frame, numbers)
            evicted[table] = evicted[table].vstack(frame) if table in evicted else frame
        return evicted

    def close(self, watermark: int) -> None:
        """Writes what this step changed."""
        self.log.drop_empty()
        for table in self._tables:
            table.tidy()
        rows, counts = self.log.held_rows, self.counts
        counts["state_rows"] = rows
        counts["state_bytes"] = self.log.held_bytes
        counts["segments"] = sum(1 for _ in self.manifest.segments())
        counts["peak_rows"] = max(counts["peak_rows"], rows)
        self.manifest.watermark = watermark
        self.log.flush()
        self._meta.put(self.manifest.dump())


def _filtered(part: _Pairs, keep: Bools) -> _Pairs:
    if keep.all():
        return part
    return part._replace(new=part.new[keep], held=part.held[keep])
