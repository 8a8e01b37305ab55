"""The version a row meets: the last of its key at or before a time, the first at or after it.

A set of versions is in time order, so the versions of one hash are a run of row numbers in its
index, and a time is a place in that run. One search a row finds it, however many versions its key
has. The index goes by hash: if the version found is of another key, one looks at its neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.key_index import Bools, Ints, KeyIndex
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import FEW_ROWS, Rows, stack, take
from millstream.temporal import BEGIN_OF_TIME

NONE = -1
_ROW_BITS = 32


class Part(NamedTuple):
    """A set of versions; the segment if they are held."""

    segment: Segment | None
    rows: Rows

    def gone(self, numbers: Ints) -> Bools:
        """Which of these versions were let go."""
        if self.segment is None:
            return np.zeros(numbers.size, np.bool_)
        gone: Bools = numbers < self.segment.skip
        if self.segment.gone and self.rows.matched is not None:
            gone |= self.rows.matched[numbers]
        return gone


@dataclass(slots=True)
class Met:
    """Of each row the version it meets: its set, its number in the set and its time."""

    part: Ints  # NONE: it meets no version
    number: Ints
    time: Ints

    @classmethod
    def nothing(cls, count: int) -> Met:
        return cls(np.full(count, NONE), np.zeros(count, np.int64), np.full(count, BEGIN_OF_TIME))

    @property
    def found(self) -> Bools:
        found: Bools = self.part != NONE
        return found

    def put(self, who: Ints, part: int, numbers: Ints, times: Ints) -> None:
        self.part[who], self.number[who], self.time[who] = part, numbers, times

    def forget(self, which: Bools) -> None:
        self.part[which] = NONE

    def otherwise(self, other: Met, which: Bools) -> Met:
        """This, but of rows that `which` marks the other's."""
        return Met(
            np.where(which, other.part, self.part),
            np.where(which, other.number, self.number),
            np.where(which, other.time, self.time),
        )


class Seekers:
    """Rows in search of a version, each at a time of its own."""

    def __init__(self, hashes: Ints, times: Ints, keys: pl.DataFrame) -> None:
        """`keys` are compared in the order of their columns; none if equal hashes say enough."""
        self.times = times
        self._keys = keys
        self._index = KeyIndex.of(hashes, times)

    def __len__(self) -> int:
        return len(self._index)

    def last_before(self, parts: Sequence[Part], names: Sequence[str]) -> Met:
        """The last version at or before each row's time. No two that count are of one time.

        A version that was let go had a later one that stands for it, or has ended: so if the last
        of a set was let go, nothing before it in this set counts. A hot key's version is found in
        the newest set, so that older ones are not asked.
        """
        met = Met.nothing(len(self))
        newest_first = sorted(enumerate(parts), key=lambda one: -int(one[1].rows.times[-1]))
        for number, part in newest_first:
            hay = part.rows.index
            runs, who = self._index.runs_in(hay)
            asked = met.time[who] < hay.times[-1]
            runs, who = runs[asked], who[asked]
            stop = self._place_in_time(hay, who, "right")
            places = np.searchsorted(hay.run_and_row, (runs << _ROW_BITS) | stop) - 1
            same = self._same(part, names)
            for of, found in _walk(who, places, runs, -1, hay.order, same):
                times = hay.times[found]
                better = ~part.gone(found) & (times > met.time[of])
                met.put(of[better], number, found[better], times[better])
        return met

    def first_after(
        self, parts: Sequence[Part], names: Sequence[str], passes: Callable[[Part, Ints], Bools]
    ) -> Met:
        """The first version at or after each row's time that was not let go and `passes`."""
        met = Met.nothing(len(self))
        for number, part in enumerate(parts):
            hay = part.rows.index
            runs, who = self._index.runs_in(hay)
            first = self._place_in_time(hay, who, "left")
            places = np.searchsorted(hay.run_and_row, (runs << _ROW_BITS) | first)
            same = self._same(part, names)

            def fits(of: Ints, found: Ints, part: Part = part, same: _Fits = same) -> Bools:
                return same(of, found) & ~part.gone(found) & passes(part, found)

            for of, found in _walk(who, places, hay.run_stops[runs] - 1, 1, hay.order, fits):
                times = hay.times[found]
                better = ~met.found[of] | (times < met.time[of])
                met.put(of[better], number, found[better], times[better])
        return met

    def _place_in_time(self, hay: KeyIndex, who: Ints, side: Literal["left", "right"]) -> Ints:
        """How many versions are older than each of these rows, or as old if `side` is right."""
        if 8 * who.size < len(self):
            return np.searchsorted(hay.times, self.times[who], side=side)
        # All rows are in the order they came, which is nearly that of time: quicker.
        return np.searchsorted(hay.times, self.times, side=side)[who]

    def _same(self, part: Part, names: Sequence[str]) -> _Fits:
        """Tells whether rows and versions are of one key."""
        theirs = part.rows.frame[:, list(names)]
        return lambda of, found: same_keys(self._keys, of, theirs, found)


_Fits = Callable[[Ints, Ints], Bools]


def same_keys(here: pl.DataFrame, mine: Ints, there: pl.DataFrame, theirs: Ints) -> Bools:
    """Are the keys of pairs of rows equal? They are not NULL. Frames without columns: equal hashes
    are equal keys."""
    same = np.ones(mine.size, np.bool_)
    if here.width and mine.size:
        for one, two in zip(take(here, mine), take(there, theirs), strict=True):
            same &= (one == two).to_numpy()
    return same


def split(rows: pl.DataFrame, flags: Bools) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that `flags` marks, and the others."""
    if flags.all():
        return rows, rows.clear()
    return take(rows, np.flatnonzero(flags)), take(rows, np.flatnonzero(~flags))


def _walk(
    who: Ints, places: Ints, ends: Ints, step: int, order: Ints, fits: _Fits
) -> list[tuple[Ints, Ints]]:
    """From its place each row goes on by `step`, no further than its end, until a version fits.
    Gives the rows that got there and their versions. Most need no second look."""
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


def gather(parts: Sequence[Part], met: Met, names: Sequence[str]) -> tuple[Ints, pl.DataFrame]:
    """The rows that met a version, and columns of these versions in the same order. Ask only if
    there are any: without versions there are no types."""
    frames = [part.rows.frame[:, list(names)] for part in parts]
    who = np.flatnonzero(met.found)
    if not names:
        return who, pl.DataFrame()
    if who.size <= FEW_ROWS or len(frames) == 1:
        starts = np.cumsum([0, *(frame.height for frame in frames[:-1])])
        return who, take(stack(frames), starts[met.part[who]] + met.number[who])
    of = [np.flatnonzero(met.part == number) for number in range(len(frames))]
    taken = [take(frame, met.number[one]) for frame, one in zip(frames, of, strict=True)]
    return np.concatenate(of), stack(taken)
