"""The rows of sessions for one step: found by session, read, and removed.

New rows are in order of arrival; sorted by key and time, the rows of a session are a range. Stored
rows are found by key and time: those of a session are all from its start to its last row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.frames import FEW_ROWS, stack, stack_rechunked, take, with_columns
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints, Pairs
from millstream.kernels.session_join.search import Needles, expand
from millstream.kernels.session_join.state import (
    HAS_MATCH,
    MATCH_START,
    ROW_COUNT,
    SessionJoinState,
)
from millstream.kernels.state.keyed_table import Table
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.time_search import RowSet


class NewRows(NamedTuple):
    """A side's new rows, and their numbers in order of key and time."""

    frame: pl.DataFrame
    order: Ints


class _RowSelection(NamedTuple):
    """Rows of sessions, by their numbers in a set; `segment` is None for new rows."""

    segment: Segment | None
    frame: pl.DataFrame
    sessions_found: Ints
    numbers: Ints

    def filter(self, which: Bools) -> _RowSelection:
        """Returns the rows of the sessions for which `which` is true."""
        some = which[self.sessions_found]
        if some.all():
            return self
        return self._replace(sessions_found=self.sessions_found[some], numbers=self.numbers[some])


class Ranges(NamedTuple):
    """The first item of each session, or part of one, and the number of items."""

    starts: Ints
    sizes: Ints

    @classmethod
    def of(cls, owners: Ints, count: int) -> Ranges:
        """Creates ranges of items that are ordered by owner."""
        sizes = np.bincount(owners, minlength=count)
        return cls(np.cumsum(sizes) - sizes, sizes)


class RowsBySession(NamedTuple):
    """Rows of several sessions, ordered by session."""

    frame: pl.DataFrame
    ranges: Ranges


class SessionRows:
    """The rows of `count` sessions."""

    def __init__(self, table: Table, count: int, parts: list[_RowSelection]) -> None:
        self._table = table
        self.count = count
        self._parts = parts

    def take(self, columns: Sequence[str], which: Bools) -> RowsBySession:
        """Returns columns of the rows of sessions for which `which` is true.

        There must be such rows: without any, there are no types.
        """
        parts = [part.filter(which) for part in self._parts]
        parts = [part for part in parts if part.sessions_found.size]
        frames = [part.frame[:, list(columns)] for part in parts]
        sessions_found = np.concatenate([part.sessions_found for part in parts])
        order = (
            np.argsort(sessions_found, kind="stable")
            if bool((sessions_found[1:] < sessions_found[:-1]).any())
            else None
        )
        if sessions_found.size > FEW_ROWS or len(parts) == 1:
            rows = [take(frame, part.numbers) for frame, part in zip(frames, parts, strict=True)]
            frame = stack_rechunked(rows)
            frame = frame if order is None else take(frame, order)
        else:  # in one call from all parts
            bases = np.cumsum([0, *(frame.height for frame in frames[:-1])])
            numbers = [part.numbers + base for part, base in zip(parts, bases, strict=True)]
            all_ids = np.concatenate(numbers)
            frame = take(stack(frames), all_ids if order is None else all_ids[order])
        return RowsBySession(frame, Ranges.of(sessions_found, self.count))

    def number(self, which: Bools) -> int:
        """Returns how many rows the sessions have for which `which` is true."""
        return sum(int(np.count_nonzero(which[part.sessions_found])) for part in self._parts)

    def split(self, which: Bools, flags: Bools) -> Iterator[tuple[Segment | None, Ints]]:
        """Yields segments (None: new rows) and the numbers of flagged rows; `flags` are in the
        order of `take`."""
        parts = [part.filter(which) for part in self._parts]
        sessions_found = np.concatenate([part.sessions_found for part in parts])
        by_part = np.zeros(flags.size, np.bool_)
        by_part[np.argsort(sessions_found, kind="stable")] = flags
        start = 0
        for part in parts:
            some = by_part[start : start + part.numbers.size]
            start += part.numbers.size
            if some.any():
                yield part.segment, part.numbers[some]

    def remove(self, which: Bools) -> int:
        """Removes stored rows of sessions for which `which` is true; returns how many."""
        removed = 0
        for part in self._parts:
            if part.segment is not None:
                numbers = part.numbers[which[part.sessions_found]]
                removed += self._table.remove_rows(part.segment, numbers).size
        return removed


class SideRows:
    """The rows of one side."""

    def __init__(self, state: SessionJoinState, side: int, keys: tuple[str, ...], gap: int) -> None:
        """`keys`: columns to compare; none if equal hashes are equal keys."""
        self._table = state.rows[side]
        self._keys, self._gap = keys, gap
        self._session_keys = state.keys
        self.new: NewRows | None = None
        self._flagged: list[pl.DataFrame] = []  # stored rows with new flags

    def of(self, sessions: pl.DataFrame, new: Pairs) -> SessionRows:
        """Returns the stored rows of sessions, and their new ones in ranges of places."""
        parts = []
        stored = np.flatnonzero(sessions[ROW_COUNT].to_numpy() > 0)
        if stored.size and self._table.segments:
            parts += self._find_stored(take(sessions, stored), stored)
        at, sizes = new
        if self.new is not None and sizes.any():
            numbers = self.new.order[expand(at, sizes)]
            sessions_found = np.repeat(np.arange(sizes.size), sizes)
            parts.append(_RowSelection(None, self.new.frame, sessions_found, numbers))
        return SessionRows(self._table, sessions.height, parts)

    def _find_stored(self, sessions: pl.DataFrame, owners: Ints) -> list[_RowSelection]:
        parts = []
        low = sessions[MATCH_START].to_numpy()
        last = sessions[TIME].to_numpy() - self._gap
        needles = Needles(sessions, self._session_keys)
        for segment, rows in self._table.overlapping(int(low.min()), int(last.max())):
            sessions_found, numbers = needles.rows_within(
                RowSet(segment, rows), self._keys, low, last
            )
            if sessions_found.size:
                parts.append(_RowSelection(segment, rows.frame, owners[sessions_found], numbers))
        return parts

    def set_has_match(self, segment: Segment | None, numbers: Ints) -> None:
        """Flags rows: stored ones are replaced when this step's rows are stored."""
        if segment is not None:
            rows = take(self._table.rows(segment).frame, numbers)
            has_match = pl.Series(HAS_MATCH, np.ones(numbers.size, np.bool_))
            self._flagged.append(with_columns(rows, has_match))
            self._table.remove_rows(segment, numbers)
        elif self.new is not None:
            flags = self.new.frame[HAS_MATCH].to_numpy().copy()
            flags[numbers] = True
            frame = with_columns(self.new.frame, pl.Series(HAS_MATCH, flags))
            self.new = self.new._replace(frame=frame)

    def keep_flagged(self, live_from: int) -> None:
        """Stores the rows that replace those with new flags."""
        if self._flagged:
            flagged = stack_rechunked(self._flagged)
            self._table.append(flagged, min(live_from, self._table.earliest))

    def keep(self, at: Ints, sizes: Ints, live_from: int) -> None:
        """Stores new rows in these ranges of places."""
        if self.new is None or not sizes.any():
            return
        frame, order = self.new
        which = np.zeros(frame.height, np.bool_)
        which[order[expand(at, sizes)]] = True
        retained = frame if which.all() else take(frame, np.flatnonzero(which))
        self._table.append(retained, min(live_from, self._table.earliest))
