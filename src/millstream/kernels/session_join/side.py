"""One side of a session join for one step: its sessions, their rows, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
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
from millstream.kernels.session_join.sessions import AT, NEW, Sessions
from millstream.kernels.session_join.state import START


@dataclass(slots=True)
class Side:
    number: int
    name: str
    sessions: Sessions
    rows: SideRows
    preserved: bool  # do rows come out without a partner?
    stores_rows: bool  # or is it enough to know that there were some?
    is_matched: Bools = field(
        init=False
    )  # sessions whose rows came out, or never will: not to be stored

    def __post_init__(self) -> None:
        self.is_matched = np.zeros(self.sessions.count, np.bool_)

    def add_rows(self, new: NewRows, fragments: pl.DataFrame, open_from: int) -> None:
        """Takes in new rows, and the chains that they make."""
        self.rows.new = new
        merge(self.sessions, fragments, open_from)
        self.is_matched = np.zeros(self.sessions.count, np.bool_)

    def windows(self, ids: Ints) -> Windows:
        return Windows(self.sessions.column(START, ids), self.sessions.column(TIME, ids))

    def rows_of(self, ids: Ints) -> SelectedRows:
        """Rows of sessions, whose numbers rise."""
        at, new = self.sessions.new_rows(ids)
        if not self.stores_rows:
            new = np.zeros_like(new)
        return SelectedRows(ids, self.rows.of(self.sessions.take(ids), (at, new)))

    def keep(self, live_from: int) -> None:
        """Holds what is not removed. Rows before `live_from` will soon go, unless older ones stay."""
        base, fresh = self.sessions.base, self.sessions.fresh
        holds = ~self.is_matched[base:] & self.stores_rows
        self.sessions.keep(holds, np.flatnonzero(self.is_matched[:base]), live_from)
        if fresh is not None:
            retained = take(
                fresh.frame[:, [AT, NEW]], np.flatnonzero(holds & ~self.sessions.removed)
            )
            self.rows.keep(retained[AT].to_numpy(), retained[NEW].to_numpy(), live_from)


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The rows of some sessions, found but not yet rows."""

    ids: Ints
    found: SessionRows

    def take(self, ids: Ints, columns: Sequence[str]) -> RowsBySession | None:
        """Those of some of the sessions, whose numbers rise; None if they have none."""
        which = self._which(ids)
        if not self.found.number(which):
            return None
        frame, ranges = self.found.take(columns, which)
        places = np.searchsorted(self.ids, ids)
        return RowsBySession(frame, Ranges(ranges.starts[places], ranges.sizes[places]))

    def number(self) -> int:
        return self.found.number(np.ones(self.ids.size, np.bool_))

    def remove(self, ids: Ints) -> int:
        """Lets go of stored rows of these sessions; gives how many."""
        return self.found.remove(self._which(ids))

    def _which(self, ids: Ints) -> Bools:
        which = np.zeros(self.ids.size, np.bool_)
        which[np.searchsorted(self.ids, ids)] = True
        return which
