"""One side of a session join for one step: its sessions and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take, with_columns
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.session_join.merge import merge
from millstream.kernels.session_join.output import Windows
from millstream.kernels.session_join.session_rows import (
    NewRows,
    Ranges,
    RowsBySession,
    SessionRows,
    SideRows,
)
from millstream.kernels.session_join.sessions import FIRST_NEW_ROW, NEW_ROW_COUNT, Sessions
from millstream.kernels.session_join.state import HAS_MATCH, START


@dataclass(slots=True)
class Side:
    """One side of the join."""

    number: int
    name: str
    sessions: Sessions
    rows: SideRows
    preserved: bool  # unmatched rows are emitted
    stores_rows: bool  # False if only the existence of rows matters
    tracks_matches: bool  # rows have a flag whether they have matched
    is_matched: Bools = field(init=False)  # sessions whose rows are finished and need not be stored

    def __post_init__(self) -> None:
        self.is_matched = np.zeros(self.sessions.count, np.bool_)

    def add_rows(self, new: NewRows, fragments: pl.DataFrame, open_from: int) -> None:
        """Adds new rows, and the chains that they form."""
        if self.tracks_matches:
            has_match = pl.Series(HAS_MATCH, np.zeros(new.frame.height, np.bool_))
            new = new._replace(frame=with_columns(new.frame, has_match))
        self.rows.new = new
        merge(self.sessions, fragments, open_from)
        self.is_matched = np.zeros(self.sessions.count, np.bool_)

    def windows(self, ids: Ints) -> Windows:
        return Windows(self.sessions.column(START, ids), self.sessions.column(TIME, ids))

    def rows_of(self, ids: Ints) -> SelectedRows:
        """Finds the rows of sessions, whose numbers are ascending."""
        at, new = self.sessions.new_rows(ids)
        if not self.stores_rows:
            new = np.zeros_like(new)
        return SelectedRows(ids, self.rows.of(self.sessions.take(ids), (at, new)))

    def keep(self, live_from: int) -> None:
        """Stores sessions and rows that were not removed. Rows before `live_from` will expire
        soon."""
        base, fresh = self.sessions.base, self.sessions.fresh
        holds = ~self.is_matched[base:] & self.stores_rows
        self.sessions.keep(holds, np.flatnonzero(self.is_matched[:base]), live_from)
        if fresh is not None:
            retained = take(
                fresh.frame[:, [FIRST_NEW_ROW, NEW_ROW_COUNT]],
                np.flatnonzero(holds & ~self.sessions.removed),
            )
            self.rows.keep(
                retained[FIRST_NEW_ROW].to_numpy(), retained[NEW_ROW_COUNT].to_numpy(), live_from
            )
        self.rows.keep_flagged(live_from)


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The rows of some sessions, found but not read yet."""

    ids: Ints
    found: SessionRows

    def take(self, ids: Ints, columns: Sequence[str]) -> RowsBySession | None:
        """Returns the rows of some of the sessions, whose numbers are ascending; None if they have
        none."""
        which = self._flags(ids)
        if not self.found.number(which):
            return None
        frame, ranges = self.found.take(columns, which)
        places = np.searchsorted(self.ids, ids)
        return RowsBySession(frame, Ranges(ranges.starts[places], ranges.sizes[places]))

    def set_has_match(self, ids: Ints, flags: Bools, rows: SideRows) -> None:
        """Flags some of the rows that `take` returned for these sessions."""
        for segment, numbers in self.found.split(self._flags(ids), flags):
            rows.set_has_match(segment, numbers)

    def remove(self, ids: Ints) -> int:
        """Removes stored rows of these sessions; returns how many."""
        return self.found.remove(self._flags(ids))

    def _flags(self, ids: Ints) -> Bools:
        which = np.zeros(self.ids.size, np.bool_)
        which[np.searchsorted(self.ids, ids)] = True
        return which
