"""Finding pairs of rows with the same key hash and times within bounds, at the cost of the smaller set.

Rows lie in time order. The index holds their hashes in sorted order beside the rows' numbers, so
rows of one hash are a run, and within a run row numbers rise as times do. A range of times is a range
of row numbers, which makes a hot key's search as narrow as its bounds are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Pairs = tuple[Ints, Ints]

MAX_PAIRS = 4_000_000  # pairs made at a time, so that a hot key cannot exhaust memory
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing
_ROW_BITS = 32


class KeyIndex:
    """Rows by hash. `times` are in row order and rise; `keys[i]` belongs to row `order[i]`."""

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

    @property
    def nbytes(self) -> int:
        return 3 * self.keys.nbytes  # with what is made of it on demand

    @cached_property
    def unique(self) -> bool:
        return bool((self.keys[1:] != self.keys[:-1]).all())

    @cached_property
    def _run_starts(self) -> Ints:
        changes = np.flatnonzero(self.keys[1:] != self.keys[:-1]) + 1
        return np.concatenate((np.zeros(1, np.int64), changes))

    @cached_property
    def _run_stops(self) -> Ints:
        """At the first place of a run: the place after its last."""
        stops = np.zeros(len(self.keys), np.int64)
        starts = self._run_starts
        stops[starts] = np.append(starts[1:], len(self.keys))
        return stops

    @cached_property
    def _run_and_row(self) -> Ints:
        """Run and row number in one sortable number."""
        starts = self._run_starts
        lengths = self._run_stops[starts] - starts
        return np.repeat(starts << _ROW_BITS, lengths) | self.order

    def only(self, keep: Bools) -> KeyIndex:
        """The index of the rows that `keep` marks, as if they were the only ones."""
        kept = keep[self.order]
        numbers = np.cumsum(keep) - 1
        return KeyIndex(self.keys[kept], numbers[self.order[kept]], self.times[keep])

    def pairs(self, other: KeyIndex, lower: int, upper: int) -> Iterator[Pairs]:
        """(rows here, rows there) with equal hash and time there - time here in [lower, upper]."""
        if not len(self) or not len(other):
            return
        if len(self) <= len(other):
            yield from _search(self, other, lower, upper)
        else:
            for there, here in _search(other, self, -upper, -lower):
                yield here, there


def time_order(times: Ints) -> Ints | None:
    """How to put rows in time order; None if they are. Rows of one time stay as they are."""
    if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
        return None
    bits = (len(times) - 1).bit_length()
    first = int(times.min())
    if (int(times.max()) - first).bit_length() + bits > 63:
        return np.argsort(times, kind="stable")
    packed = ((times - first) << bits) | np.arange(len(times))
    packed.sort()
    return packed & ((1 << bits) - 1)


def _stable_order_by_top_bits(keys: Keys) -> Ints:
    """argsort, twice as fast: sorting plain numbers is vectorised, so the row's number rides in the
    low bits. If keys differ in those bits alone, which a good hash hardly ever does, sort in full."""
    bits = np.uint64((1 << max(len(keys) - 1, 1).bit_length()) - 1)
    packed = (keys & ~bits) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & bits).view(np.int64)
    placed = keys[order]
    if bool((placed[1:] < placed[:-1]).any()):
        return np.argsort(keys, kind="stable")
    return order


def _search(needles: KeyIndex, hay: KeyIndex, lower: int, upper: int) -> Iterator[Pairs]:
    # Needles are sorted too: neighbouring searches touch neighbouring memory.
    place = np.searchsorted(hay.keys, needles.keys)
    place[place == len(hay)] = 0
    hit = np.flatnonzero(hay.keys[place] == needles.keys)
    if not hit.size:
        return
    place, seekers = place[hit], needles.order[hit]
    if hay.unique:
        yield _in_bounds(needles, hay, seekers, hay.order[place], lower, upper)
        return
    sizes = hay._run_stops[place] - place
    exact = int(sizes.sum()) > 4 * hit.size + 1024
    if exact:
        start, stop = _row_range(needles, hay, seekers, lower, upper)
        run = place << _ROW_BITS
        place = np.searchsorted(hay._run_and_row, run | start)
        sizes = np.searchsorted(hay._run_and_row, run | stop) - place
    for chunk in _chunks(sizes):
        rows = hay.order[_expand(place[chunk], sizes[chunk])]
        who = np.repeat(seekers[chunk], sizes[chunk])
        yield (who, rows) if exact else _in_bounds(needles, hay, who, rows, lower, upper)


def _in_bounds(
    needles: KeyIndex, hay: KeyIndex, who: Ints, rows: Ints, lower: int, upper: int
) -> Pairs:
    gap = hay.times[rows] - needles.times[who]
    keep: Any = (gap >= lower) & (gap <= upper)
    return (who, rows) if bool(keep.all()) else (who[keep], rows[keep])


def _row_range(needles: KeyIndex, hay: KeyIndex, who: Ints, lower: int, upper: int) -> Pairs:
    """The rows of `hay` that lie within each needle's bounds, from and before."""
    if 8 * who.size < len(needles):
        times = needles.times[who]
        return (
            np.searchsorted(hay.times, times + lower),
            np.searchsorted(hay.times, times + upper, side="right"),
        )
    start = np.searchsorted(hay.times, needles.times + lower)
    stop = np.searchsorted(hay.times, needles.times + upper, side="right")
    return start[who], stop[who]


def _expand(starts: Ints, sizes: Ints) -> Ints:
    """starts[0], starts[0] + 1, … (sizes[0] of them), then those of starts[1], …"""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - sizes), sizes)


def _chunks(sizes: Ints) -> Iterator[slice]:
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
