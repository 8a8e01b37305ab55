"""The sessions of one side for one step: stored ones, and those that new rows created or extended.

Sessions are identified by number: stored ones by their place in the log, then those of this step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.frames import stack_rechunked, take, with_columns
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints, Pairs
from millstream.kernels.session_join.search import NO_PAIRS, Needles
from millstream.kernels.session_join.state import MATCH_START, ROW_COUNT, START, SessionJoinState
from millstream.kernels.state.sorted_rows import Rows
from millstream.kernels.state.time_search import RowSet
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

FIRST_NEW_ROW = "_at"  # in sessions of this step: the place of the first new row
NEW_ROW_COUNT = "_new"  # in sessions of this step: the number of new rows


@dataclass(slots=True)
class MergedSessions:
    """Stored sessions that grew in this step, and the numbers of the sessions they are part of
    now."""

    sessions: pl.DataFrame
    merged_ids: Ints


class Sessions:
    """The sessions of one side."""

    def __init__(self, state: SessionJoinState, side: int) -> None:
        self.keys = state.keys
        self.columns = [*state.keys, START, MATCH_START, ROW_COUNT, TIME, HASH]
        self._table = state.sessions[side]
        self._segments = list(self._table.segments)
        self._bases = np.cumsum([0, *(segment.rows for segment in self._segments)])
        self.fresh: Rows | None = None  # of this step, with FIRST_NEW_ROW and NEW_ROW_COUNT
        self.merged: MergedSessions | None = None
        self.removed = np.zeros(0, np.bool_)  # which sessions of this step were removed

    @property
    def base(self) -> int:
        """The number of the first session of this step."""
        return int(self._bases[-1])

    @property
    def count(self) -> int:
        return self.base + self.removed.size

    def put(self, fresh: Rows, merged: MergedSessions | None) -> None:
        self.fresh, self.merged = fresh, merged
        self.removed = np.zeros(len(fresh), np.bool_)

    # --- search

    def adjoining(self, fragments: pl.DataFrame, open_from: int) -> Pairs:
        """Returns pairs (fragment, open session) of one key that must be merged."""
        return self._search(fragments, START, open_from)

    def overlapping(
        self, others: pl.DataFrame, least: int = BEGIN_OF_TIME, fresh: bool = True
    ) -> Pairs:
        """Returns pairs (row of `others`, which are sessions of the other side; session here) that
        overlap.

        Sessions here that end before `least` are ignored; those of this step are included if
        `fresh`.
        """
        return self._search(others, MATCH_START, least, fresh)

    def _search(self, others: pl.DataFrame, start: str, least: int, fresh: bool = True) -> Pairs:
        if not others.height:
            return NO_PAIRS
        needles, low = Needles(others, self.keys), others[start].to_numpy()
        found = [NO_PAIRS]
        for base, part in self._ending_from(max(least, int(low.min())), fresh):
            sessions_found, numbers = needles.overlapping(part, self.keys, start, low, least)
            found.append((sessions_found, numbers + base))
        return np.concatenate([sessions_found for sessions_found, _ in found]), np.concatenate(
            [ids for _, ids in found]
        )

    def _ending_from(self, least: int, fresh: bool) -> Iterator[tuple[int, RowSet]]:
        """Yields sets with sessions that end at `least` or later, and the number of their first
        session."""
        for base, segment in zip(self._bases, self._segments, strict=False):
            if segment.last >= least:
                yield int(base), RowSet(segment, self._table.rows(segment))
        if fresh and self.fresh is not None and self.fresh.times[-1] >= least:
            yield self.base, RowSet(None, self.fresh)

    def closing(self, since: int, until: int) -> Ints:
        """Returns stored sessions that end in [since, until), and those of this step that end
        before it."""
        found = [np.zeros(0, np.int64)]
        for base, segment in zip(self._bases, self._segments, strict=False):
            if segment.first < until and segment.last >= since:
                rows = self._table.rows(segment)
                numbers = np.arange(rows.rows_before(since), rows.rows_before(until))
                found.append(base + numbers[~RowSet(segment, rows).is_removed(numbers)])
        if self.fresh is not None:
            found.append(self.base + np.arange(self.fresh.rows_before(until)))
        return np.concatenate(found)

    def all_ids(self) -> Ints:
        return self.closing(BEGIN_OF_TIME, END_OF_TIME)

    # --- by number

    def flags(self, *ids: Ints) -> Bools:
        """Returns flags by session number: whether it is one of these."""
        flags = np.zeros(self.count, np.bool_)
        for some in ids:
            flags[some] = True
        return flags

    def unique_ids(self, *ids: Ints) -> Ints:
        """Returns these numbers without duplicates, ascending."""
        return np.flatnonzero(self.flags(*ids))

    def take(self, ids: Ints) -> pl.DataFrame:
        """Returns sessions in this order. Without any, all columns are integers."""
        frames, order = [], []
        for base, rows, places in self._by_set(ids):
            frames.append(take(rows.frame[:, self.columns], ids[places] - base))
            order.append(places)
        if not frames:
            return pl.DataFrame(schema=dict.fromkeys(self.columns, pl.Int64))
        if len(frames) == 1:
            return frames[0]
        return take(stack_rechunked(frames), np.argsort(np.concatenate(order)))

    def _by_set(self, ids: Ints) -> Iterator[tuple[int, Rows, Ints]]:
        """Yields sets, the number of their first session, and the places in `ids` of their
        sessions."""
        if self.fresh is not None and ids.size and int(ids.min()) >= self.base:
            yield self.base, self.fresh, np.arange(ids.size)
            return
        sets = np.searchsorted(self._bases, ids, side="right") - 1
        for number in np.flatnonzero(np.bincount(sets)).tolist():
            stored = number < len(self._segments)
            rows = self._table.rows(self._segments[number]) if stored else self.fresh
            assert rows is not None
            yield int(self._bases[number]), rows, np.flatnonzero(sets == number)

    def column(self, name: str, ids: Ints) -> Ints:
        """Returns a numeric column of sessions."""
        numbers = np.empty(ids.size, np.int64)
        for base, rows, places in self._by_set(ids):
            numbers[places] = rows.frame[name].to_numpy()[ids[places] - base]
        return numbers

    def ends(self, ids: Ints) -> Ints:
        return self.column(TIME, ids)

    def new_rows(self, ids: Ints) -> Pairs:
        """Returns the range of new rows of each session: its first place, and the number of
        rows."""
        if self.fresh is None:
            return np.zeros(ids.size, np.int64), np.zeros(ids.size, np.int64)
        fresh = ids >= self.base
        places = np.where(fresh, ids - self.base, 0)
        at, new = (
            self.fresh.frame[name].to_numpy()[places] for name in (FIRST_NEW_ROW, NEW_ROW_COUNT)
        )
        return at, np.where(fresh, new, 0)

    # --- removal and storage

    def remove(self, ids: Ints) -> None:
        fresh = ids >= self.base
        self.removed[ids[fresh] - self.base] = True
        stored = ids[~fresh]
        sets = np.searchsorted(self._bases, stored, side="right") - 1
        for number in np.flatnonzero(np.bincount(sets)).tolist():
            numbers = stored[sets == number] - int(self._bases[number])
            self._table.remove_rows(self._segments[number], numbers)

    def keep(self, with_rows: Bools, is_matched: Ints, live_from: int) -> None:
        """Stores the sessions of this step, and replaces stored ones that are matched by ones
        without rows.

        `with_rows`: whether the rows of each session of this step are stored.
        """
        frames = []
        if is_matched.size:
            frames.append(without_rows(self.take(is_matched)))
            self.remove(is_matched)
        if self.fresh is not None and not self.removed.all():
            frame = self.fresh.frame
            stored = np.where(
                with_rows, frame[ROW_COUNT].to_numpy() + frame[NEW_ROW_COUNT].to_numpy(), 0
            )
            retained = with_columns(frame, pl.Series(ROW_COUNT, stored))[:, self.columns]
            frames.append(take(retained, np.flatnonzero(~self.removed)))
        if frames:
            self._table.append(stack_rechunked(frames), min(live_from, self._table.earliest))


def without_rows(sessions: pl.DataFrame) -> pl.DataFrame:
    return with_columns(sessions, pl.Series(ROW_COUNT, np.zeros(sessions.height, np.int64)))
