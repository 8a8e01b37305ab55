"""One side of a session join for one step: its sessions, their rows, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.session_join.merge import merge
from millstream.kernels.session_join.output import Windows
from millstream.kernels.session_join.session_rows import FoundRows, New, Ranges, SideRows, Taken
from millstream.kernels.session_join.sessions import AT, NEW, Sessions
from millstream.kernels.session_join.state import START
from millstream.kernels.state.sorted_rows import take


@dataclass(slots=True)
class Side:
    number: int
    name: str
    sessions: Sessions
    rows: SideRows
    preserved: bool  # do rows come out without a partner?
    holds_rows: bool  # or is it enough to know that there were some?
    spent: Bools = field(init=False)  # sessions whose rows came out, or never will: not to be held

    def __post_init__(self) -> None:
        self.spent = np.zeros(self.sessions.count, np.bool_)

    def arrive(self, new: New, fragments: pl.DataFrame, open_from: int) -> None:
        """Takes in new rows, and the chains that they make."""
        self.rows.new = new
        merge(self.sessions, fragments, open_from)
        self.spent = np.zeros(self.sessions.count, np.bool_)

    def windows(self, ids: Ints) -> Windows:
        return Windows(self.sessions.column(START, ids), self.sessions.column(TIME, ids))

    def rows_of(self, ids: Ints) -> Lot:
        """Rows of sessions, whose numbers rise."""
        at, new = self.sessions.new_rows(ids)
        if not self.holds_rows:
            new = np.zeros_like(new)
        return Lot(ids, self.rows.of(self.sessions.take(ids), (at, new)))

    def keep(self, live_from: int) -> None:
        """Holds what is not gone. Rows before `live_from` will soon go, unless older ones stay."""
        base, fresh = self.sessions.base, self.sessions.fresh
        holds = ~self.spent[base:] & self.holds_rows
        self.sessions.keep(holds, np.flatnonzero(self.spent[:base]), live_from)
        if fresh is not None:
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
