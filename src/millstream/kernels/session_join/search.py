"""Finding by key and time: the rows of a session, and the sessions that it meets.

Rows of one hash are a run in a set's index, in time order. The rows of a session are a range of
its run. Sessions of one side and key share no row's time, so those in order of their ends are in
order of their starts, and the ones that a session meets are a range, too: two searches find it,
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
    """starts[0], starts[0] + 1, … (sizes[0] of them), then those of starts[1], …"""
    ends = np.cumsum(sizes)
    places: Ints = np.arange(int(ends[-1]) if ends.size else 0)
    places += np.repeat(starts - (ends - sizes), sizes)
    return places


class Needles:
    """Sessions to search with."""

    def __init__(self, sessions: pl.DataFrame, keys: Sequence[str]) -> None:
        """`keys`: columns to compare; none where equal hashes are equal keys."""
        self.sessions = sessions
        self._keys = sessions[:, list(keys)]
        self._ends = sessions[TIME].to_numpy()
        self._index = KeyIndex.of(sessions[HASH].to_numpy(), self._ends)

    def rows_within(self, part: RowSet, names: Sequence[str], low: Ints, high: Ints) -> Pairs:
        """(session, row) of one key, with the row's time in [low, high] of the session."""
        hay = part.rows.index
        runs, who = self._index.runs_in(hay)
        if not who.size:
            return NO_PAIRS
        run = runs << _ROW_BITS
        first = np.searchsorted(hay.times, low[who])
        stop = np.searchsorted(hay.times, high[who], side="right")
        start = np.searchsorted(hay.run_and_row, run | first)
        sizes = np.searchsorted(hay.run_and_row, run | stop) - start
        found = hay.order[expand(start, sizes)]
        return self._that_count(part, names, np.repeat(who, sizes), found)

    def meeting(
        self, part: RowSet, names: Sequence[str], start: str, low: Ints, least: int
    ) -> Pairs:
        """(session, session of `part`) of one key, of which the second ends at `low` or later and
        at `least` or later, and starts, by its column `start`, no later than the first one ends."""
        hay = part.rows.index
        runs, who = self._index.runs_in(hay)
        if not who.size:
            return NO_PAIRS
        first = np.searchsorted(hay.times, np.maximum(low[who], least))
        begin = np.searchsorted(hay.run_and_row, (runs << _ROW_BITS) | first)
        end = hay.run_stops[runs]
        starts = part.rows.frame[start].to_numpy()
        narrow = np.flatnonzero((end - begin > 1) & ~self._of_many_keys(part, names, runs))
        if narrow.size:
            ends = self._ends[who[narrow]]
            end[narrow] = _first_later(starts, hay.order, begin[narrow], end[narrow], ends)
        sizes = np.maximum(end - begin, 0)
        found, who = hay.order[expand(begin, sizes)], np.repeat(who, sizes)
        meets = starts[found] <= self._ends[who]
        if not meets.all():
            found, who = found[meets], who[meets]
        return self._that_count(part, names, who, found)

    def _of_many_keys(self, part: RowSet, names: Sequence[str], runs: Ints) -> Bools:
        """Which runs are of several keys with one hash? Their sessions are in no order."""
        hay = part.rows.index
        if not names:
            return np.zeros(runs.size, np.bool_)
        some = np.unique(runs[hay.run_stops[runs] - runs > 1])
        sizes = hay.run_stops[some] - some - 1
        places = expand(some + 1, sizes)
        keys = part.rows.frame[:, list(names)]
        same = same_keys(keys, hay.order[places - 1], keys, hay.order[places])
        return np.isin(runs, np.repeat(some, sizes)[~same])

    def _that_count(self, part: RowSet, names: Sequence[str], who: Ints, found: Ints) -> Pairs:
        """Without what was let go, and what shares but the hash."""
        keep = same_keys(self._keys, who, part.rows.frame[:, list(names)], found)
        keep &= ~part.is_removed(found)
        return (who, found) if keep.all() else (who[keep], found[keep])


def _first_later(starts: Ints, order: Ints, low: Ints, high: Ints, limits: Ints) -> Ints:
    """Of each range of places the first whose row starts after the limit, or the range's end."""
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
    """For each different id the place at which its value is the least."""
    order = np.lexsort((values, ids))
    ordered = ids[order]
    first = np.ones(ids.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return order[first]
