"""The versions of a key group for one step: those held, those that came, those of no more use.

    arrivals ──▶ of one key and time the last to come ──▶ meet rows ──▶ kept while a row may come
                       replaces one that is held                        that they are in force for

At most one version of a key and time is held, so how they arrived need not be remembered. Of the
versions up to the watermark a key's last one is in force and held; a search among those that the
watermark has just passed finds the ones that they replace, so the cost is that of the change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, time_order
from millstream.kernels.state.keyed_table import Tables, index_by_key
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows, stack, take
from millstream.kernels.state.time_search import NONE, Met, Part, Seekers, same_keys
from millstream.temporal import BEGIN_OF_TIME

TABLE = 1


class _Passing(NamedTuple):
    """Held versions, by their numbers in a segment."""

    segment: Segment
    rows: Rows
    numbers: Ints


class Versions:
    def __init__(self, tables: Tables, keys: tuple[str, ...], deletes: str | None) -> None:
        """`keys`: columns to compare beside the hash; none where equal hashes are equal keys."""
        self._table = tables[TABLE]
        self.keys = keys
        self._deletes = deletes
        self.since = tables.watermark  # of the last step that changed state
        self._fresh: Rows | None = None
        self._exact: KeyIndex | None = None

    # --- arriving

    def arrive(self, frame: pl.DataFrame) -> None:
        """Of several new versions of a key and time the last counts, and a held one no more."""
        rows = Rows.of(frame.rechunk())
        exact = index_by_key(rows.frame, self.keys, rows.times)
        times = rows.times[exact.order]
        replaced = (exact.keys[1:] == exact.keys[:-1]) & (times[1:] == times[:-1])
        if replaced.any():
            without = np.zeros(len(rows), np.bool_)
            without[exact.order[:-1][replaced]] = True
            rows, exact = rows.only(0, without), exact.only(~without)
        self._fresh, self._exact = rows, exact
        mine = rows.frame[:, list(self.keys)]
        for segment, held in self._table.reaching(int(rows.times[0]), int(rows.times[-1])):
            theirs = held.frame[:, list(self.keys)]
            for new, old in rows.index.pairs(held.index, 0, 0, skip=segment.skip):
                same = same_keys(mine, new, theirs, old)
                self._table.mark(segment, old[same])

    def without_deletes(self) -> None:
        """What came leaves no more than what it replaced, if it ends a version."""
        if self._fresh is not None and self._deletes is not None:
            ends = self.ends(self._fresh)
            if ends.any():
                self._exact = None if self._exact is None else self._exact.only(~ends)
                self._fresh = self._fresh.only(0, ends)

    # --- meeting rows

    def parts(self, start: int, stop: int) -> list[Part]:
        """Sets with versions whose time may lie in [start, stop], the new ones last."""
        held = [Part(*found) for found in self._table.reaching(start, stop)]
        fresh = self._fresh
        if fresh is not None and len(fresh) and fresh.times[-1] >= start and fresh.times[0] <= stop:
            held.append(Part(None, fresh))
        return held

    def ends(self, rows: Rows, numbers: Ints | None = None) -> Bools:
        """Which rows end the version of their key."""
        if self._deletes is None:
            return np.zeros(len(rows) if numbers is None else numbers.size, np.bool_)
        column = rows.frame[self._deletes]
        if numbers is not None:
            column = column[pl.Series(numbers)]
        return (column.fill_null(False) if column.null_count() else column).to_numpy()

    def forget_ended(self, parts: list[Part], met: Met) -> None:
        """A row that meets the end of a version meets nothing."""
        if self._deletes is None:
            return
        for number, part in enumerate(parts):
            who = np.flatnonzero(met.part == number)
            if who.size:
                met.part[who[self.ends(part.rows, met.number[who])]] = NONE

    def passed(self, start: int, stop: int) -> pl.DataFrame | None:
        """Keys and times of the versions in [start, stop) that end nothing; None if none does."""
        names = [*self.keys, TIME, HASH]
        frames = []
        for _, rows, numbers in self._between(start, stop):
            counts = numbers[~self.ends(rows, numbers)]
            if counts.size:
                frames.append(take(rows.frame[:, names], counts))
        if self._fresh is not None:
            counts = np.arange(self._fresh.rows_before(start), self._fresh.rows_before(stop))
            counts = counts[~self.ends(self._fresh, counts)]
            if counts.size:
                frames.append(take(self._fresh.frame[:, names], counts))
        return stack(frames).rechunk() if frames else None

    # --- letting go

    def keep_from(self, time: int) -> None:
        """Holds what came; versions older than `time` are of no more use."""
        self._table.expire(time)
        if self._fresh is not None:
            kept = self._fresh.frame.slice(self._fresh.rows_before(time))
            self._table.append(kept, time)

    def keep_in_force(self, after: int, live_from: int) -> None:
        """Holds what came; of versions up to `after` only the last of each key is of use, and that
        only if it ends nothing and is not older than `live_from`."""
        fresh, kept = self._fresh, None
        fronts = np.zeros(0, np.int64)
        if fresh is not None and self._exact is not None:
            order = self._exact.order
            times = fresh.times[order]
            kept = np.ones(len(fresh), np.bool_)
            kept[order[:-1]] = (self._exact.keys[1:] != self._exact.keys[:-1]) | (times[1:] > after)
            fronts = np.flatnonzero(kept[: fresh.rows_before(after + 1)])
        self._replace(list(self._between(self.since + 1, after + 1)), fronts, kept)
        if live_from > BEGIN_OF_TIME:
            self._table.expire(live_from)
        if fresh is not None and kept is not None:
            kept[: fresh.rows_before(live_from)] = False
            if kept.any():
                rows = fresh.frame if kept.all() else take(fresh.frame, np.flatnonzero(kept))
                self._table.append(rows, live_from)

    def _replace(self, passing: list[_Passing], fronts: Ints, kept: Bools | None) -> None:
        """Of the held versions that came into force, and new ones, a key's last replaces the others
        and the one in force before."""
        names = [*self.keys, TIME, HASH]
        frames = [take(rows.frame[:, names], numbers) for _, rows, numbers in passing]
        ends = [self.ends(rows, numbers) for _, rows, numbers in passing]
        if self._fresh is not None and fronts.size:
            frames.append(take(self._fresh.frame[:, names], fronts))
            ends.append(self.ends(self._fresh, fronts))
        if not frames:
            return
        every = stack(frames).rechunk()
        order = time_order(every[TIME].to_numpy())
        if order is None:
            order = np.arange(every.height)
        sorted_ = take(every, order)
        index = index_by_key(sorted_, self.keys, sorted_[TIME].to_numpy())
        last = order[index.order[np.append(index.run_starts[1:], len(index)) - 1]]
        gone = np.ones(every.height, np.bool_)
        gone[last] = False
        gone |= np.concatenate(ends)
        self._replace_in_force(take(every, last))
        start = 0
        for segment, _, numbers in passing:
            self._table.mark(segment, numbers[gone[start : start + numbers.size]])
            start += numbers.size
        if kept is not None:
            kept[fronts] = ~gone[start:]

    def _replace_in_force(self, by: pl.DataFrame) -> None:
        """Lets go of the versions that were in force for these keys until now."""
        held = [Part(*found) for found in self._table.reaching(BEGIN_OF_TIME, self.since)]
        if not held:
            return
        times = np.full(by.height, self.since)
        seekers = Seekers(by[HASH].to_numpy(), times, by[:, list(self.keys)])
        met = seekers.last_before(held, self.keys)
        for number, part in enumerate(held):
            assert part.segment is not None
            old = met.number[met.part == number]
            if old.size:
                self._table.mark(part.segment, old)

    def _between(self, start: int, stop: int) -> Iterator[_Passing]:
        """Held versions with `start` <= time < `stop`."""
        for segment, rows in self._table.reaching(start, stop - 1):
            first = max(segment.skip, rows.rows_before(start))
            numbers = np.arange(first, rows.rows_before(stop))
            if segment.gone and rows.matched is not None:
                numbers = numbers[~rows.matched[first : first + numbers.size]]
            if numbers.size:
                yield _Passing(segment, rows, numbers)
