"""What comes out, and what goes, when sessions close.

    closing, met none ────────────▶ comes out alone
    closing, met a closed one ────▶ FINAL: the pair comes out
    closing, met an open one ─────▶ waits: held with its rows until the other closes, too

All that a session has met is held as long as it is open, so at its close it is known whether it met
any. A closed session without an open partner goes. (What `session_join_once` does needs less.)
"""

from __future__ import annotations

import numpy as np

from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import SessionJoinSpec
from millstream.kernels.session_join.early_output import both
from millstream.kernels.session_join.output import Out
from millstream.kernels.session_join.search import least_of_each
from millstream.kernels.session_join.side import Lot, Side
from millstream.temporal import Emit

_NONE = np.zeros(0, np.int64)
_Two = tuple[Ints, Ints]


class Closing:
    """Sessions that were open and close, and all that meet them. What ends before `until` is then
    closed."""

    def __init__(
        self, spec: SessionJoinSpec, sides: tuple[Side, Side], ids: _Two, until: int
    ) -> None:
        self._spec, self._sides, self._ids, self._until = spec, sides, ids, until
        self._pairs = self._meeting()
        self._closed = (self._is_closed(0), self._is_closed(1))

    def run(self, out: Out) -> tuple[int, int]:
        """Lets out what is due and lets go what is of no more use; gives how many held rows went,
        a side."""
        told = self._told()
        alone = (self._alone(0), self._alone(1))
        going = (self._going(0, told[0]), self._going(1, told[1]))
        lots = []
        for side, *some in zip(self._sides, told, alone, going, strict=True):
            lots.append(side.rows_of(side.sessions.once(*some)))
        if told[0].size:
            self._tell(told, lots, out)
        for side, ids, lot in zip(self._sides, alone, lots, strict=True):
            taken = lot.take(ids, out.columns[side.number]) if side.preserved else None
            if taken is not None:
                out.alone(side.number, taken, side.windows(ids))
        for side, ids in zip(self._sides, going, strict=True):
            side.sessions.remove(ids)
        return lots[0].remove(going[0]), lots[1].remove(going[1])

    def _meeting(self) -> _Two:
        """(left, right) of which one at least is closing."""
        left, right = (side.sessions for side in self._sides)
        one, theirs = right.meeting(left.take(self._ids[0]))
        two, mine = left.meeting(right.take(self._ids[1]))
        others = ~left.flags(self._ids[0])[mine]
        return (
            np.concatenate((self._ids[0][one], mine[others])),
            np.concatenate((theirs, self._ids[1][two[others]])),
        )

    def _is_closed(self, number: int) -> Bools:
        """Of each pair: is its session of this side closed?"""
        closed: Bools = self._sides[number].sessions.ends(self._pairs[number]) < self._until
        return closed

    def _told(self) -> _Two:
        """Pairs whose rows come out now."""
        if self._spec.emit is Emit.CHANGES:
            return _NONE, _NONE
        done = self._closed[0] & self._closed[1]
        mine, theirs = self._pairs[0][done], self._pairs[1][done]
        if not self._spec.how.left_only:
            return mine, theirs
        # A left row comes out once, with the one that is closed first.
        first = least_of_each(mine, self._sides[1].sessions.ends(theirs))
        return mine[first], theirs[first]

    def _tell(self, pairs: _Two, lots: list[Lot], out: Out) -> None:
        left, right = self._sides
        windows = both(left.windows(pairs[0]), right.windows(pairs[1]))
        ids = left.sessions.once(pairs[0]), right.sessions.once(pairs[1])
        mine = lots[0].take(ids[0], out.columns[0])
        assert mine is not None
        if self._spec.how.left_only:
            out.once(mine, windows)
            return
        theirs = lots[1].take(ids[1], out.columns[1])
        assert theirs is not None
        here, there = (np.searchsorted(ids[n], pairs[n]) for n in (0, 1))
        out.pairs(mine, theirs, here, there, windows)

    def _alone(self, number: int) -> Ints:
        """Closing sessions that met none."""
        ids = self._ids[number]
        return ids[~self._sides[number].sessions.flags(self._pairs[number])[ids]]

    def _going(self, number: int, told: Ints) -> Ints:
        """Closed sessions that nothing waits for."""
        ids = self._ids[number]
        if number == 0 and self._spec.how.left_only:
            # Its rows came out, or never will: it waits only for its first partner.
            return self._sides[0].sessions.once(self._alone(0), told)
        mine, closed = self._pairs[number], self._closed[number]
        sessions = self._sides[number].sessions
        stays = sessions.flags(mine[~self._closed[1 - number]])
        waiting = sessions.once(mine[closed & ~sessions.flags(ids)[mine] & ~stays[mine]])
        if waiting.size:
            others = self._sides[1 - number].sessions
            open_, _ = others.meeting(sessions.take(waiting), self._until)
            stays[waiting[open_]] = True
        return np.concatenate((ids[~stays[ids]], waiting[~stays[waiting]]))
