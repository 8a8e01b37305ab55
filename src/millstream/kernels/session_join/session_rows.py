"""The rows of sessions for one step: found by session, rows, and let go.

NewRows rows lie as they came; in the order of key and time the rows of a session are a range. Held
ones are found by key and time: a session's are all from its start to its last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.frames import FEW_ROWS, stack, stack_rechunked, take
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints, Pairs
from millstream.kernels.session_join.search import Needles, expand
from millstream.kernels.session_join.state import LOW, ROW_COUNT, SessionJoinState
from millstream.kernels.state.keyed_table import Table
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.time_search import RowSet


class NewRows(NamedTuple):
    """A side's new rows, and their numbers in order of key and time."""

    frame: pl.DataFrame
    order: Ints


class _RowSelection(NamedTuple):
    """Rows of sessions, by their numbers in a set; the segment if they are stored."""

    segment: Segment | None
    frame: pl.DataFrame
    who: Ints
    numbers: Ints

    def filter(self, which: Bools) -> _RowSelection:
        """Those of the sessions that `which` marks."""
        some = which[self.who]
        if some.all():
            return self
        return self._replace(who=self.who[some], numbers=self.numbers[some])


class Ranges(NamedTuple):
    """Of each session, or part of one, its first and how many there are."""

    starts: Ints
    sizes: Ints

    @classmethod
    def of(cls, whose: Ints, count: int) -> Ranges:
        """Of things that lie in order of whose they are."""
        sizes = np.bincount(whose, minlength=count)
        return cls(np.cumsum(sizes) - sizes, sizes)


class RowsBySession(NamedTuple):
    """Rows of several sessions, session by session."""

    frame: pl.DataFrame
    ranges: Ranges


class SessionRows:
    """The rows of `count` sessions."""

    def __init__(self, table: Table, count: int, parts: list[_RowSelection]) -> None:
        self._table = table
        self.count = count
        self._parts = parts

    def take(self, columns: Sequence[str], which: Bools) -> RowsBySession:
        """Columns of the rows of those sessions that `which` marks; of the others, none. Ask only
        if there are rows: without any there are no types."""
        parts = [part.filter(which) for part in self._parts]
        parts = [part for part in parts if part.who.size]
        frames = [part.frame[:, list(columns)] for part in parts]
        who = np.concatenate([part.who for part in parts])
        order = np.argsort(who, kind="stable") if bool((who[1:] < who[:-1]).any()) else None
        if who.size > FEW_ROWS or len(parts) == 1:
            rows = [take(frame, part.numbers) for frame, part in zip(frames, parts, strict=True)]
            frame = stack_rechunked(rows)
            frame = frame if order is None else take(frame, order)
        else:  # in one go from all of them
            bases = np.cumsum([0, *(frame.height for frame in frames[:-1])])
            numbers = [part.numbers + base for part, base in zip(parts, bases, strict=True)]
            every = np.concatenate(numbers)
            frame = take(stack(frames), every if order is None else every[order])
        return RowsBySession(frame, Ranges.of(who, self.count))

    def number(self, which: Bools) -> int:
        """How many rows the sessions have that `which` marks."""
        return sum(int(np.count_nonzero(which[part.who])) for part in self._parts)

    def remove(self, which: Bools) -> int:
        """Lets go of the stored rows of sessions that `which` marks; gives how many."""
        removed = 0
        for part in self._parts:
            if part.segment is not None:
                numbers = part.numbers[which[part.who]]
                removed += self._table.remove_rows(part.segment, numbers).size
        return removed


class SideRows:
    def __init__(self, state: SessionJoinState, side: int, keys: tuple[str, ...], gap: int) -> None:
        """`keys`: columns to compare; none where equal hashes are equal keys."""
        self._table = state.rows[side]
        self._keys, self._gap = keys, gap
        self._session_keys = state.keys
        self.new: NewRows | None = None

    def of(self, sessions: pl.DataFrame, new: Pairs) -> SessionRows:
        """Their stored rows, and the new ones in ranges of places."""
        parts = []
        stored = np.flatnonzero(sessions[ROW_COUNT].to_numpy() > 0)
        if stored.size and self._table.segments:
            parts += self._find_stored(take(sessions, stored), stored)
        at, sizes = new
        if self.new is not None and sizes.any():
            numbers = self.new.order[expand(at, sizes)]
            who = np.repeat(np.arange(sizes.size), sizes)
            parts.append(_RowSelection(None, self.new.frame, who, numbers))
        return SessionRows(self._table, sessions.height, parts)

    def _find_stored(self, sessions: pl.DataFrame, whose: Ints) -> list[_RowSelection]:
        parts = []
        low = sessions[LOW].to_numpy()
        last = sessions[TIME].to_numpy() - self._gap
        needles = Needles(sessions, self._session_keys)
        for segment, rows in self._table.overlapping(int(low.min()), int(last.max())):
            who, numbers = needles.rows_within(RowSet(segment, rows), self._keys, low, last)
            if who.size:
                parts.append(_RowSelection(segment, rows.frame, whose[who], numbers))
        return parts

    def keep(self, at: Ints, sizes: Ints, live_from: int) -> None:
        """Holds new rows in these ranges of places."""
        if self.new is None or not sizes.any():
            return
        frame, order = self.new
        which = np.zeros(frame.height, np.bool_)
        which[order[expand(at, sizes)]] = True
        retained = frame if which.all() else take(frame, np.flatnonzero(which))
        self._table.append(retained, min(live_from, self._table.earliest))
