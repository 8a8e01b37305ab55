"""Search by key and time: the rows of a session, and the sessions that overlap it.

Rows with the same hash are a run in a set's index, in time order. The rows of a session are a range
of its run. Sessions of one side and key do not overlap, so their order by end is also their order
by start, and the sessions that overlap another one are a range, too: two binary searches find it,
however many sessions a key has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex, Pairs
from millstream.kernels.state.time_search import RowSet, same_keys

_ROW_BITS = 32
NO_PAIRS: Pairs = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def expand(starts: Ints, sizes: Ints) -> Ints:
    """Returns starts[0], starts[0] + 1, … (sizes[0] numbers), then those of starts[1], …"""
    ends = np.cumsum(sizes)
    places: Ints = np.arange(int(ends[-1]) if ends.size else 0)
    places += np.repeat(starts - (ends - sizes), sizes)
    return places


class Needles:
    """Sessions to search with."""

    def __init__(self, sessions: pl.DataFrame, keys: Sequence[str]) -> None:
        """`keys`: columns to compare; none if equal hashes are equal keys."""
        self.sessions = sessions
        self._keys = sessions[:, list(keys)]
        self._ends = sessions[TIME].to_numpy()
        self._index = KeyIndex.of(sessions[HASH].to_numpy(), self._ends)

    def rows_within(self, part: RowSet, names: Sequence[str], low: Ints, high: Ints) -> Pairs:
        """Returns pairs (session, row) with equal keys and the row's time in [low, high] of the
        session."""
        hay = part.rows.index
        runs, sessions_found = self._index.runs_in(hay)
        if not sessions_found.size:
            return NO_PAIRS
        run = runs << _ROW_BITS
        first = np.searchsorted(hay.times, low[sessions_found])
        stop = np.searchsorted(hay.times, high[sessions_found], side="right")
        start = np.searchsorted(hay.run_and_row, run | first)
        sizes = np.searchsorted(hay.run_and_row, run | stop) - start
        found = hay.order[expand(start, sizes)]
        return self._filter_pairs(part, names, np.repeat(sessions_found, sizes), found)

    def overlapping(
        self, part: RowSet, names: Sequence[str], start: str, low: Ints, least: int
    ) -> Pairs:
        """Returns pairs (session, session of `part`) with equal keys that overlap.

        The second one ends at `low` and at `least` or later, and starts, by its column `start`, no
        later than the first one ends.
        """
        hay = part.rows.index
        runs, sessions_found = self._index.runs_in(hay)
        if not sessions_found.size:
            return NO_PAIRS
        first = np.searchsorted(hay.times, np.maximum(low[sessions_found], least))
        begin = np.searchsorted(hay.run_and_row, (runs << _ROW_BITS) | first)
        end = hay.run_stops[runs]
        starts = part.rows.frame[start].to_numpy()
        narrow = np.flatnonzero((end - begin > 1) & ~self._has_several_keys(part, names, runs))
        if narrow.size:
            ends = self._ends[sessions_found[narrow]]
            end[narrow] = _first_later(starts, hay.order, begin[narrow], end[narrow], ends)
        sizes = np.maximum(end - begin, 0)
        found, sessions_found = hay.order[expand(begin, sizes)], np.repeat(sessions_found, sizes)
        is_match = starts[found] <= self._ends[sessions_found]
        if not is_match.all():
            found, sessions_found = found[is_match], sessions_found[is_match]
        return self._filter_pairs(part, names, sessions_found, found)

    def _has_several_keys(self, part: RowSet, names: Sequence[str], runs: Ints) -> Bools:
        """Returns which runs have several keys with the same hash; their sessions are not
        ordered."""
        hay = part.rows.index
        if not names:
            return np.zeros(runs.size, np.bool_)
        some = np.unique(runs[hay.run_stops[runs] - runs > 1])
        sizes = hay.run_stops[some] - some - 1
        places = expand(some + 1, sizes)
        keys = part.rows.frame[:, list(names)]
        same = same_keys(keys, hay.order[places - 1], keys, hay.order[places])
        return np.isin(runs, np.repeat(some, sizes)[~same])

    def _filter_pairs(
        self, part: RowSet, names: Sequence[str], sessions_found: Ints, found: Ints
    ) -> Pairs:
        """Drops pairs with removed rows, and pairs with equal hashes but different keys."""
        keep = same_keys(self._keys, sessions_found, part.rows.frame[:, list(names)], found)
        keep &= ~part.is_removed(found)
        return (sessions_found, found) if keep.all() else (sessions_found[keep], found[keep])


def _first_later(starts: Ints, order: Ints, low: Ints, high: Ints, limits: Ints) -> Ints:
    """Returns the first place of each range whose row starts after the limit, or the end of the
    range."""
    low, high = low.copy(), high.copy()
    left = np.arange(low.size)
    while left.size:
        middle = (low[left] + high[left]) >> 1
        before = starts[order[middle]] <= limits[left]
        low[left[before]] = middle[before] + 1
        high[left[~before]] = middle[~before]
        left = left[low[left] < high[left]]
    return low


def least_of_each(ids: Ints, values: Ints) -> Ints:
    """Returns, for each distinct id, the place of its least value."""
    order = np.lexsort((values, ids))
    ordered = ids[order]
    first = np.ones(ids.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return order[first]
