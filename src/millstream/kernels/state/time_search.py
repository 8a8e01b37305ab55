"""Search for the version of a key at a time: the last one at or before it, or the first at or after
it.

A set of versions is in time order, so versions with the same hash are a run of row numbers in its
index, and a time is a place in that run. One binary search per row finds it, however many versions
the key has. If the version found has another key with the same hash, its neighbour is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.frames import FEW_ROWS, stack, take
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import BEGIN_OF_TIME

NONE = -1
_ROW_BITS = 32


class RowSet(NamedTuple):
    """A set of versions; `segment` is None for new ones."""

    segment: Segment | None
    rows: Rows

    def is_removed(self, numbers: Ints) -> Bools:
        """Returns which of these versions are no longer in state."""
        if self.segment is None:
            return np.zeros(numbers.size, np.bool_)
        removed: Bools = numbers < self.segment.skip
        if self.segment.removed and self.rows.matched is not None:
            removed |= self.rows.matched[numbers]
        return removed


@dataclass(slots=True)
class VersionMatches:
    """The version found for each row: its set, its number in the set, and its time."""

    part: Ints  # NONE: no version
    number: Ints
    time: Ints

    @classmethod
    def nothing(cls, count: int) -> VersionMatches:
        return cls(np.full(count, NONE), np.zeros(count, np.int64), np.full(count, BEGIN_OF_TIME))

    @property
    def found(self) -> Bools:
        found: Bools = self.part != NONE
        return found

    def put(self, who: Ints, part: int, numbers: Ints, times: Ints) -> None:
        self.part[who], self.number[who], self.time[who] = part, numbers, times

    def clear_where(self, which: Bools) -> None:
        """Removes the matches for which `which` is true."""
        self.part[which] = NONE

    def replace_where(self, other: VersionMatches, which: Bools) -> VersionMatches:
        """Returns these matches, with those of `other` where `which` is true."""
        return VersionMatches(
            np.where(which, other.part, self.part),
            np.where(which, other.number, self.number),
            np.where(which, other.time, self.time),
        )


class VersionSearch:
    """Searches for versions, each row at its own time."""

    def __init__(self, hashes: Ints, times: Ints, keys: pl.DataFrame) -> None:
        """`keys` are the columns to compare, in order; none if equal hashes are equal keys."""
        self.times = times
        self._keys = keys
        self._index = KeyIndex.of(hashes, times)

    def __len__(self) -> int:
        return len(self._index)

    def last_before(self, parts: Sequence[RowSet], names: Sequence[str]) -> VersionMatches:
        """Finds the last version at or before each row's time. Live versions of a key have
        different times.

        A removed version was replaced by a later one, or has ended. So if the last version of a set
        is removed, no earlier one of this set is valid. Sets are searched from the newest, so a hot
        key is usually not looked up in older ones.
        """
        matches = VersionMatches.nothing(len(self))
        newest_first = sorted(enumerate(parts), key=lambda one: -int(one[1].rows.times[-1]))
        for number, part in newest_first:
            hay = part.rows.index
            runs, who = self._index.runs_in(hay)
            newer = matches.time[who] < hay.times[-1]
            runs, who = runs[newer], who[newer]
            stop = self._place_in_time(hay, who, "right")
            places = np.searchsorted(hay.run_and_row, (runs << _ROW_BITS) | stop) - 1
            same = self._same(part, names)
            for of, found in _walk(who, places, runs, -1, hay.order, same):
                times = hay.times[found]
                better = ~part.is_removed(found) & (times > matches.time[of])
                matches.put(of[better], number, found[better], times[better])
        return matches

    def first_after(
        self, parts: Sequence[RowSet], names: Sequence[str], passes: Callable[[RowSet, Ints], Bools]
    ) -> VersionMatches:
        """Finds the first live version at or after each row's time for which `passes` is true."""
        matches = VersionMatches.nothing(len(self))
        for number, part in enumerate(parts):
            hay = part.rows.index
            runs, who = self._index.runs_in(hay)
            first = self._place_in_time(hay, who, "left")
            places = np.searchsorted(hay.run_and_row, (runs << _ROW_BITS) | first)
            same = self._same(part, names)

            def fits(of: Ints, found: Ints, part: RowSet = part, same: _Fits = same) -> Bools:
                return same(of, found) & ~part.is_removed(found) & passes(part, found)

            for of, found in _walk(who, places, hay.run_stops[runs] - 1, 1, hay.order, fits):
                times = hay.times[found]
                better = ~matches.found[of] | (times < matches.time[of])
                matches.put(of[better], number, found[better], times[better])
        return matches

    def _place_in_time(self, hay: KeyIndex, who: Ints, side: Literal["left", "right"]) -> Ints:
        """Returns how many versions are older than each row; with `side` right, also those of the
        same time."""
        if 8 * who.size < len(self):
            return np.searchsorted(hay.times, self.times[who], side=side)
        # Rows are in order of arrival, which is nearly time order: searching for all is faster.
        return np.searchsorted(hay.times, self.times, side=side)[who]

    def _same(self, part: RowSet, names: Sequence[str]) -> _Fits:
        """Returns a function that compares the keys of rows and versions."""
        other_rows = part.rows.frame[:, list(names)]
        return lambda of, found: same_keys(self._keys, of, other_rows, found)


_Fits = Callable[[Ints, Ints], Bools]


def same_keys(here: pl.DataFrame, own_rows: Ints, there: pl.DataFrame, other_rows: Ints) -> Bools:
    """Returns which pairs of rows have equal keys, which are not NULL.

    Frames without columns mean that equal hashes are equal keys.
    """
    same = np.ones(own_rows.size, np.bool_)
    if here.width and own_rows.size:
        for one, two in zip(take(here, own_rows), take(there, other_rows), strict=True):
            same &= (one == two).to_numpy()
    return same


def _walk(
    who: Ints, places: Ints, ends: Ints, step: int, order: Ints, fits: _Fits
) -> list[tuple[Ints, Ints]]:
    """Moves each row from its place by `step`, at most to its end, until a version fits.

    Returns the rows that found a version, and the versions. Most rows need one look.
    """
    got: list[tuple[Ints, Ints]] = []
    while True:
        inside = places * step <= ends * step
        who, places, ends = who[inside], places[inside], ends[inside]
        if not who.size:
            return got
        found = order[places]
        done = fits(who, found)
        if done.all():
            got.append((who, found))
            return got
        got.append((who[done], found[done]))
        who, places, ends = who[~done], places[~done] + step, ends[~done]


def gather(
    parts: Sequence[RowSet], matches: VersionMatches, names: Sequence[str]
) -> tuple[Ints, pl.DataFrame]:
    """Returns the rows with a version, and columns of these versions in the same order.

    There must be matches: without versions there are no types.
    """
    frames = [part.rows.frame[:, list(names)] for part in parts]
    who = np.flatnonzero(matches.found)
    if not names:
        return who, pl.DataFrame()
    if who.size <= FEW_ROWS or len(frames) == 1:
        starts = np.cumsum([0, *(frame.height for frame in frames[:-1])])
        return who, take(stack(frames), starts[matches.part[who]] + matches.number[who])
    of = [np.flatnonzero(matches.part == number) for number in range(len(frames))]
    taken = [take(frame, matches.number[one]) for frame, one in zip(frames, of, strict=True)]
    return np.concatenate(of), stack(taken)
