"""Finding pairs of rows with one key hash and times within bounds, at the cost of the smaller set.

Rows lie in time order. The index holds their hashes in sorted order beside the rows' numbers, so
rows of one hash are a run, and within a run row numbers rise as times do. A range of times is a
range of row numbers, so the search for a hot key's partners is as narrow as the bounds are.

Measured on 475 k × 475 k rows, on a busy machine: making the index takes 16 ms, once a set; a
search 6 ms if nothing matches, 17 ms if four rows in ten do, 51 ms if nine do. A Polars hash
join of the same numbers takes 55, 75 and 99 ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Pairs = tuple[Ints, Ints]
Enough = Literal["all", "each here", "each there"]

MAX_PAIRS = 4_000_000  # pairs made at a time, so that a hot key cannot exhaust memory
FEW_NEEDLES = 4096  # below it a sieve is not worth its making
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing
_ROW_BITS = 32


class KeyIndex:
    """Rows by hash. `times` are in row order and, unless each row has a hash of its own, rise;
    `keys[i]` belongs to row `order[i]`."""

    bytes_a_row: ClassVar[int] = 32  # with what is made of it on demand

    def __init__(self, keys: Keys, order: Ints, times: Ints) -> None:
        self.keys = keys
        self.order = order
        self.times = times

    @classmethod
    def of(cls, hashes: Ints, times: Ints) -> KeyIndex:
        # The factor spreads plain integer keys over all bits: their top bits then tell them apart.
        keys = hashes.view(np.uint64) * _SPREAD
        order = _stable_order_by_top_bits(keys)
        return cls(keys[order], order, times)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def unique(self) -> bool:
        return bool((self.keys[1:] != self.keys[:-1]).all())

    def runs_in(self, hay: KeyIndex) -> Pairs:
        """The first place of each row's run in the hay, if its hash is there, and the row."""
        keys, rows = self.keys, self.order
        if len(keys) > FEW_NEEDLES:
            there, shift = hay.sieve
            likely = np.flatnonzero(there[keys >> shift])
            keys, rows = keys[likely], rows[likely]
        # These are sorted too, so neighbouring searches touch neighbouring memory.
        places = np.searchsorted(hay.keys, keys)
        places[places == len(hay)] = 0
        hit = np.flatnonzero(hay.keys[places] == keys)
        return places[hit], rows[hit]

    @cached_property
    def sieve(self) -> tuple[Bools, np.uint64]:
        """For the top bits of a key: may it be here? A key that is not is told so seven times in
        eight, at about an eighth of what searching for it costs. Where nine keys in ten are here
        it does not pay, but costs little."""
        bits = len(self.keys).bit_length() + 3
        shift = np.uint64(64 - bits)
        there = np.zeros(1 << bits, np.bool_)
        there[self.keys >> shift] = True
        return there, shift

    @cached_property
    def run_starts(self) -> Ints:
        changes = np.flatnonzero(self.keys[1:] != self.keys[:-1]) + 1
        return np.concatenate((np.zeros(1, np.int64), changes))

    @cached_property
    def run_stops(self) -> Ints:
        """At the first place of a run: the place after its last."""
        stops = np.zeros(len(self.keys), np.int64)
        stops[self.run_starts] = np.append(self.run_starts[1:], len(self.keys))
        return stops

    @cached_property
    def run_and_row(self) -> Ints:
        """Run and row number in one sortable number."""
        lengths = self.run_stops[self.run_starts] - self.run_starts
        return np.repeat(self.run_starts << _ROW_BITS, lengths) | self.order

    def only(self, keep: Bools) -> KeyIndex:
        """The index of the rows that `keep` marks, as if they were the only ones."""
        kept = keep[self.order]
        numbers = np.cumsum(keep) - 1
        return KeyIndex(self.keys[kept], numbers[self.order[kept]], self.times[keep])

    def pairs(
        self,
        other: KeyIndex,
        lower: int,
        upper: int,
        *,
        skip: int = 0,
        enough: Enough = "all",
    ) -> Iterator[Pairs]:
        """(rows here, rows there) with equal hash and time there - time here in [lower, upper].

        Rows there before `skip` do not count. If it is `enough` that each row of one set which has
        a partner comes with some partner, a hot key gives no more pairs than it has rows.
        """
        if not len(self) or not len(other):
            return
        if len(self) <= len(other):
            ends = {"all": "", "each here": "needles", "each there": "hay"}
            yield from _Search(self, other, lower, upper, (0, skip), ends[enough]).pairs()
        else:
            ends = {"all": "", "each here": "hay", "each there": "needles"}
            search = _Search(other, self, -upper, -lower, (skip, 0), ends[enough])
            for there, here in search.pairs():
                yield here, there


def time_order(times: Ints) -> Ints | None:
    """How to put rows in time order; None if they are. Rows of one time stay as they are."""
    if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
        return None
    bits = (len(times) - 1).bit_length()
    first = int(times.min())
    if (int(times.max()) - first).bit_length() + bits > 63:
        return np.argsort(times, kind="stable")
    packed: Ints = ((times - first) << bits) | np.arange(len(times))
    packed.sort()
    order: Ints = packed & ((1 << bits) - 1)
    return order


def _stable_order_by_top_bits(keys: Keys) -> Ints:
    """argsort, twice as fast: sorting plain numbers is vectorised, so the row's number rides in
    the low bits. If keys differ in those bits alone, which hashes hardly ever do, sort in full."""
    bits = np.uint64((1 << max(len(keys) - 1, 1).bit_length()) - 1)
    packed = (keys & ~bits) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & bits).view(np.int64)
    placed = keys[order]
    if bool((placed[1:] < placed[:-1]).any()):
        return np.argsort(keys, kind="stable")
    return order


class _Search:
    """Looks up every needle in the hay; gives (rows of needles, rows of hay)."""

    def __init__(
        self,
        needles: KeyIndex,
        hay: KeyIndex,
        lower: int,
        upper: int,
        skip: tuple[int, int],
        one_each: str,
    ) -> None:
        self.needles, self.hay = needles, hay
        self.lower, self.upper = lower, upper
        self.skip_needles, self.skip = skip
        self.one_each = one_each

    def pairs(self) -> Iterator[Pairs]:
        hay = self.hay
        place, seekers = self._hits()
        if not seekers.size:
            return
        if hay.unique:
            yield self._in_bounds(seekers, hay.order[place])
            return
        sizes = hay.run_stops[place] - place
        exact = int(sizes.sum()) > 4 * seekers.size + 1024
        if exact:
            place, sizes = self._narrowed(place, seekers)
        for chunk in _chunks(sizes):
            rows = hay.order[_expand(place[chunk], sizes[chunk])]
            who = np.repeat(seekers[chunk], sizes[chunk])
            yield (who, rows) if exact else self._in_bounds(who, rows)

    def _hits(self) -> Pairs:
        """The first place of each needle's run in the hay, if it is there, and the needle's row."""
        place, seekers = self.needles.runs_in(self.hay)
        if not self.skip_needles:
            return place, seekers
        counts = seekers >= self.skip_needles
        return place[counts], seekers[counts]

    def _in_bounds(self, who: Ints, rows: Ints) -> Pairs:
        gap = self.hay.times[rows] - self.needles.times[who]
        keep: Bools = (gap >= self.lower) & (gap <= self.upper)
        if self.skip:
            keep &= rows >= self.skip
        return (who, rows) if bool(keep.all()) else (who[keep], rows[keep])

    def _narrowed(self, place: Ints, who: Ints) -> Pairs:
        """Of each needle's run the place and number of the rows within its bounds."""
        first, stop = self._row_range(who)
        run = place << _ROW_BITS
        start = np.searchsorted(self.hay.run_and_row, run | np.maximum(first, self.skip))
        end = np.searchsorted(self.hay.run_and_row, run | np.maximum(stop, self.skip))
        if self.one_each == "needles":
            return start, np.minimum(end - start, 1)
        if self.one_each == "hay":  # ranges rise: leave out of each what one before it holds
            start[1:] = np.maximum(start[1:], np.maximum.accumulate(end)[:-1])
            return start, np.maximum(end - start, 0)
        return start, end - start

    def _row_range(self, who: Ints) -> Pairs:
        """The rows of the hay whose times are within each needle's bounds: from, and before."""
        needles, hay = self.needles, self.hay
        few = 8 * who.size < len(needles.times)
        times = needles.times[who] if few else needles.times  # all of them are sorted: quicker
        start = np.searchsorted(hay.times, times + self.lower)
        stop = np.searchsorted(hay.times, times + self.upper, side="right")
        return (start, stop) if few else (start[who], stop[who])


def _expand(starts: Ints, sizes: Ints) -> Ints:
    """starts[0], starts[0] + 1, … (sizes[0] of them), then those of starts[1], …"""
    ends = np.cumsum(sizes)
    places: Ints = np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)
    return places


def _chunks(sizes: Ints) -> Iterator[slice]:
    """Cuts so that the sum of sizes in each is at most MAX_PAIRS, or it is of one size alone."""
    ends = np.cumsum(sizes)
    total, start = int(ends[-1]), 0
    if total <= MAX_PAIRS:
        if total:
            yield slice(0, len(sizes))
        return
    while start < len(sizes):
        made = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, made + MAX_PAIRS, side="right")), start + 1)
        if int(ends[stop - 1]) > made:
            yield slice(start, stop)
        start = stop
