"""What comes out, and what goes, when sessions close.

    closing, met none ────────────▶ comes out unmatched
    closing, met a closed one ────▶ FINAL: the pair comes out
    closing, met an open one ─────▶ waits: stored with its rows until the other closes, too

All that a session has met is stored as long as it is open, so at its close it is known whether it met
any. A closed session without an open partner goes. (What `session_join_once` does needs less.)
"""

from __future__ import annotations

import numpy as np

from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import SessionJoinSpec
from millstream.kernels.session_join.early_output import enclosing_windows
from millstream.kernels.session_join.output import Output
from millstream.kernels.session_join.search import least_of_each
from millstream.kernels.session_join.side import SelectedRows, Side
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

    def run(self, out: Output) -> tuple[int, int]:
        """Lets out what is due and lets go what is of no more use; gives how many stored rows went,
        a side."""
        to_emit = self._pairs_to_emit()
        unmatched = (self._unmatched(0), self._unmatched(1))
        to_remove = (self._to_remove(0, to_emit[0]), self._to_remove(1, to_emit[1]))
        selected = []
        for side, *some in zip(self._sides, to_emit, unmatched, to_remove, strict=True):
            selected.append(side.rows_of(side.sessions.unique_ids(*some)))
        if to_emit[0].size:
            self._emit_pairs(to_emit, selected, out)
        for side, ids, found in zip(self._sides, unmatched, selected, strict=True):
            rows = found.take(ids, out.columns[side.number]) if side.preserved else None
            if rows is not None:
                out.unmatched(side.number, rows, side.windows(ids))
        for side, ids in zip(self._sides, to_remove, strict=True):
            side.sessions.remove(ids)
        return selected[0].remove(to_remove[0]), selected[1].remove(to_remove[1])

    def _meeting(self) -> _Two:
        """(left, right) of which one at least is closing."""
        left, right = (side.sessions for side in self._sides)
        one, other_rows = right.meeting(left.take(self._ids[0]))
        two, own_rows = left.meeting(right.take(self._ids[1]))
        others = ~left.flags(self._ids[0])[own_rows]
        return (
            np.concatenate((self._ids[0][one], own_rows[others])),
            np.concatenate((other_rows, self._ids[1][two[others]])),
        )

    def _is_closed(self, number: int) -> Bools:
        """Of each pair: is its session of this side closed?"""
        closed: Bools = self._sides[number].sessions.ends(self._pairs[number]) < self._until
        return closed

    def _pairs_to_emit(self) -> _Two:
        """Pairs whose rows come out now."""
        if self._spec.emit is Emit.CHANGES:
            return _NONE, _NONE
        done = self._closed[0] & self._closed[1]
        own_rows, other_rows = self._pairs[0][done], self._pairs[1][done]
        if not self._spec.how.left_only:
            return own_rows, other_rows
        # A left row comes out once, with the one that is closed first.
        first = least_of_each(own_rows, self._sides[1].sessions.ends(other_rows))
        return own_rows[first], other_rows[first]

    def _emit_pairs(self, pairs: _Two, selected: list[SelectedRows], out: Output) -> None:
        left, right = self._sides
        windows = enclosing_windows(left.windows(pairs[0]), right.windows(pairs[1]))
        ids = left.sessions.unique_ids(pairs[0]), right.sessions.unique_ids(pairs[1])
        own_rows = selected[0].take(ids[0], out.columns[0])
        assert own_rows is not None
        if self._spec.how.left_only:
            out.left_rows(own_rows, windows)
            return
        other_rows = selected[1].take(ids[1], out.columns[1])
        assert other_rows is not None
        here, there = (np.searchsorted(ids[n], pairs[n]) for n in (0, 1))
        out.pairs(own_rows, other_rows, here, there, windows)

    def _unmatched(self, number: int) -> Ints:
        """Closing sessions that met none."""
        ids = self._ids[number]
        return ids[~self._sides[number].sessions.flags(self._pairs[number])[ids]]

    def _to_remove(self, number: int, to_emit: Ints) -> Ints:
        """Closed sessions that nothing waits for."""
        ids = self._ids[number]
        if number == 0 and self._spec.how.left_only:
            # Its rows came out, or never will: it waits only for its first partner.
            return self._sides[0].sessions.unique_ids(self._unmatched(0), to_emit)
        own_rows, closed = self._pairs[number], self._closed[number]
        sessions = self._sides[number].sessions
        stays = sessions.flags(own_rows[~self._closed[1 - number]])
        waiting = sessions.unique_ids(
            own_rows[closed & ~sessions.flags(ids)[own_rows] & ~stays[own_rows]]
        )
        if waiting.size:
            others = self._sides[1 - number].sessions
            open_, _ = others.meeting(sessions.take(waiting), self._until)
            stays[waiting[open_]] = True
        return np.concatenate((ids[~stays[ids]], waiting[~stays[waiting]]))
