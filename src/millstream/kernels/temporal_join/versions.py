"""The versions of a key group for one step: stored, new and expired ones.

    new versions ──▶ the last one of each key and time ──▶ match rows ──▶ retained while rows may
                       replaces a stored one                              match them

At most one version of a key and time is stored, so their order of arrival need not be known. Of a
key's versions up to the watermark, the last one is valid and stays in state. A search among the
versions that the watermark has just passed finds those they replace, so the cost is proportional to
the change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.frames import stack, take
from millstream.kernels.core.grouping import index_by_key
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order
from millstream.kernels.state.keyed_table import Tables
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows
from millstream.kernels.state.time_search import (
    NONE,
    RowSet,
    VersionMatches,
    VersionSearch,
    same_keys,
)
from millstream.temporal import BEGIN_OF_TIME

TABLE = 1


class _StoredVersions(NamedTuple):
    """Stored versions, by their numbers in a segment."""

    segment: Segment
    rows: Rows
    numbers: Ints


class Versions:
    """Finds, adds and expires versions."""

    def __init__(self, tables: Tables, keys: tuple[str, ...], deletes: str | None) -> None:
        """`keys`: columns to compare besides the hash; none if equal hashes are equal keys."""
        self._table = tables[TABLE]
        self.keys = keys
        self._deletes = deletes
        self.since = tables.watermark  # of the last step that changed state
        self._fresh: Rows | None = None
        self._exact: KeyIndex | None = None

    # --- new versions

    def add(self, frame: pl.DataFrame) -> None:
        """Adds new versions. The last one of a key and time replaces others, including a stored
        one."""
        rows = Rows.of(frame.rechunk())
        exact = index_by_key(rows.frame, self.keys, rows.times)
        times = rows.times[exact.order]
        replaced = (exact.keys[1:] == exact.keys[:-1]) & (times[1:] == times[:-1])
        if replaced.any():
            without = np.zeros(len(rows), np.bool_)
            without[exact.order[:-1][replaced]] = True
            rows, exact = rows.select(0, without), exact.filter(~without)
        self._fresh, self._exact = rows, exact
        own_rows = rows.frame[:, list(self.keys)]
        for segment, stored in self._table.overlapping(int(rows.times[0]), int(rows.times[-1])):
            other_rows = stored.frame[:, list(self.keys)]
            for new, old in rows.index.pairs(stored.index, 0, 0, skip=segment.skip):
                same = same_keys(own_rows, new, other_rows, old)
                self._table.remove_rows(segment, old[same])

    def drop_deletes(self) -> None:
        """Drops new versions that end a version, after they have replaced stored ones."""
        if self._fresh is not None and self._deletes is not None:
            ends = self.ends(self._fresh)
            if ends.any():
                self._exact = None if self._exact is None else self._exact.filter(~ends)
                self._fresh = self._fresh.select(0, ends)

    # --- matching

    def parts(self, start: int, stop: int) -> list[RowSet]:
        """Returns sets with versions whose time may be in [start, stop], the new ones last."""
        stored = [RowSet(*found) for found in self._table.overlapping(start, stop)]
        fresh = self._fresh
        if fresh is not None and len(fresh) and fresh.times[-1] >= start and fresh.times[0] <= stop:
            stored.append(RowSet(None, fresh))
        return stored

    def ends(self, rows: Rows, numbers: Ints | None = None) -> Bools:
        """Returns which rows end the version of their key."""
        if self._deletes is None:
            return np.zeros(len(rows) if numbers is None else numbers.size, np.bool_)
        column = rows.frame[self._deletes]
        if numbers is not None:
            column = column[pl.Series(numbers)]
        return (column.fill_null(False) if column.null_count() else column).to_numpy()

    def clear_ended(self, parts: list[RowSet], matched: VersionMatches) -> None:
        """Clears matches with rows that end a version."""
        if self._deletes is None:
            return
        for number, part in enumerate(parts):
            who = np.flatnonzero(matched.part == number)
            if who.size:
                matched.part[who[self.ends(part.rows, matched.number[who])]] = NONE

    def passed(self, start: int, stop: int) -> pl.DataFrame | None:
        """Returns keys and times of versions in [start, stop) that do not end a version; None if
        there are none."""
        names = [*self.keys, TIME, HASH]
        frames = []
        for _, rows, numbers in self._between(start, stop):
            current = numbers[~self.ends(rows, numbers)]
            if current.size:
                frames.append(take(rows.frame[:, names], current))
        if self._fresh is not None:
            new = np.arange(self._fresh.rows_before(start), self._fresh.rows_before(stop))
            current = new[~self.ends(self._fresh, new)]
            if current.size:
                frames.append(take(self._fresh.frame[:, names], current))
        return stack(frames).rechunk() if frames else None

    # --- expiry

    def retain_from(self, time: int) -> None:
        """Stores new versions and expires versions older than `time`."""
        self._table.expire(time)
        if self._fresh is not None:
            retained = self._fresh.frame.slice(self._fresh.rows_before(time))
            self._table.append(retained, time)

    def retain_valid(self, after: int, live_from: int) -> None:
        """Stores new versions. Of versions up to `after`, only the last one of each key stays in
        state, unless it ends a version or is older than `live_from`."""
        fresh, retained = self._fresh, None
        newly_valid = np.zeros(0, np.int64)
        if fresh is not None and self._exact is not None:
            order = self._exact.order
            times = fresh.times[order]
            retained = np.ones(len(fresh), np.bool_)
            retained[order[:-1]] = (self._exact.keys[1:] != self._exact.keys[:-1]) | (
                times[1:] > after
            )
            newly_valid = np.flatnonzero(retained[: fresh.rows_before(after + 1)])
        self._replace(list(self._between(self.since + 1, after + 1)), newly_valid, retained)
        if live_from > BEGIN_OF_TIME:
            self._table.expire(live_from)
        if fresh is not None and retained is not None:
            retained[: fresh.rows_before(live_from)] = False
            if retained.any():
                rows = (
                    fresh.frame if retained.all() else take(fresh.frame, np.flatnonzero(retained))
                )
                self._table.append(rows, live_from)

    def _replace(
        self, becoming_valid: list[_StoredVersions], newly_valid: Ints, retained: Bools | None
    ) -> None:
        """Removes versions that a version of the same key, which has just become valid,
        replaces."""
        names = [*self.keys, TIME, HASH]
        frames = [take(rows.frame[:, names], numbers) for _, rows, numbers in becoming_valid]
        ends = [self.ends(rows, numbers) for _, rows, numbers in becoming_valid]
        if self._fresh is not None and newly_valid.size:
            frames.append(take(self._fresh.frame[:, names], newly_valid))
            ends.append(self.ends(self._fresh, newly_valid))
        if not frames:
            return
        every = stack(frames).rechunk()
        order = time_order(every[TIME].to_numpy())
        if order is None:
            order = np.arange(every.height)
        sorted_ = take(every, order)
        index = index_by_key(sorted_, self.keys, sorted_[TIME].to_numpy())
        last = order[index.order[np.append(index.run_starts[1:], len(index)) - 1]]
        removed = np.ones(every.height, np.bool_)
        removed[last] = False
        removed |= np.concatenate(ends)
        self._remove_valid(take(every, last))
        start = 0
        for segment, _, numbers in becoming_valid:
            self._table.remove_rows(segment, numbers[removed[start : start + numbers.size]])
            start += numbers.size
        if retained is not None:
            retained[newly_valid] = ~removed[start:]

    def _remove_valid(self, by: pl.DataFrame) -> None:
        """Removes the versions of these keys that were valid until now."""
        stored = [RowSet(*found) for found in self._table.overlapping(BEGIN_OF_TIME, self.since)]
        if not stored:
            return
        times = np.full(by.height, self.since)
        seekers = VersionSearch(by[HASH].to_numpy(), times, by[:, list(self.keys)])
        matched = seekers.last_before(stored, self.keys)
        for number, part in enumerate(stored):
            assert part.segment is not None
            old = matched.number[matched.part == number]
            if old.size:
                self._table.remove_rows(part.segment, old)

    def _between(self, start: int, stop: int) -> Iterator[_StoredVersions]:
        """Yields stored versions with `start` <= time < `stop`."""
        for segment, rows in self._table.overlapping(start, stop - 1):
            first = max(segment.skip, rows.rows_before(start))
            numbers = np.arange(first, rows.rows_before(stop))
            if segment.removed and rows.matched is not None:
                numbers = numbers[~rows.matched[first : first + numbers.size]]
            if numbers.size:
                yield _StoredVersions(segment, rows, numbers)
