"""One side of a session join for one step: its sessions, their rows, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from millstream.kernels.base import TIME
from millstream.kernels.index import Bools, Ints
from millstream.kernels.rows import take
from millstream.kernels.session_join_out import Windows
from millstream.kernels.session_join_rows import FoundRows, Ranges, SideRows, Taken
from millstream.kernels.session_join_sessions import AT, NEW, Sessions
from millstream.kernels.session_join_state import START


@dataclass(slots=True)
class Side:
    number: int
    name: str
    sessions: Sessions
    rows: SideRows
    preserved: bool  # do rows come out without a partner?
    holds_rows: bool  # or is it enough to know that there were some?
    spent: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))  # of fresh sessions

    def windows(self, ids: Ints) -> Windows:
        return Windows(self.sessions.column(START, ids), self.sessions.column(TIME, ids))

    def rows_of(self, ids: Ints) -> Lot:
        """Rows of sessions, whose numbers rise."""
        at, new = self.sessions.new_rows(ids)
        if not self.holds_rows:
            new = np.zeros_like(new)
        elif self.spent.any():
            fresh = np.flatnonzero(ids >= self.sessions.base)
            new[fresh[self.spent[ids[fresh] - self.sessions.base]]] = 0
        return Lot(ids, self.rows.of(self.sessions.take(ids), (at, new)))

    def spend(self, ids: Ints) -> None:
        """Rows of these sessions came out, or never will: they need not be held."""
        if not self.spent.size:
            self.spent = np.zeros(self.sessions.gone.size, np.bool_)
        self.spent[ids[ids >= self.sessions.base] - self.sessions.base] = True

    def keep(self, live_from: int) -> None:
        """Holds what is not gone. Rows before `live_from` will soon go, unless older ones stay."""
        fresh = self.sessions.fresh
        if fresh is None:
            return
        holds = np.full(len(fresh), self.holds_rows)
        if self.spent.size:
            holds &= ~self.spent
        self.sessions.keep(holds, live_from)
        kept = take(fresh.frame[:, [AT, NEW]], np.flatnonzero(holds & ~self.sessions.gone))
        self.rows.keep(kept[AT].to_numpy(), kept[NEW].to_numpy(), live_from)


@dataclass(frozen=True, slots=True)
class Lot:
    """The rows of some sessions, found but not yet taken."""

    ids: Ints
    found: FoundRows

    def take(self, ids: Ints, columns: Sequence[str]) -> Taken | None:
        """Those of some of the sessions, whose numbers rise; None if they have none."""
        which = self._which(ids)
        if not self.found.number(which):
            return None
        frame, ranges = self.found.take(columns, which)
        places = np.searchsorted(self.ids, ids)
        return Taken(frame, Ranges(ranges.starts[places], ranges.sizes[places]))

    def number(self) -> int:
        return self.found.number(np.ones(self.ids.size, np.bool_))

    def remove(self, ids: Ints) -> int:
        """Lets go of held rows of these sessions; gives how many."""
        return self.found.remove(self._which(ids))

    def _which(self, ids: Ints) -> Bools:
        which = np.zeros(self.ids.size, np.bool_)
        which[np.searchsorted(self.ids, ids)] = True
        return which
