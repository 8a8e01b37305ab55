"""Output and expiry when sessions close.

    closing, overlaps none ───────────▶ its rows are emitted as unmatched
    closing, overlaps a closed one ───▶ FINAL: the pairs are emitted
    closing, overlaps an open one ────▶ stays in state with its rows until the other closes

All sessions that an open session has overlapped stay in state, so at its close it is known whether
there were any. A closed session that overlaps no open one is removed. (`semi_anti` needs less
state.)
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
_IdPair = tuple[Ints, Ints]


class Closing:
    """Sessions that close in this step, and all sessions that overlap them.

    Sessions that end before `until` are closed after this step.
    """

    def __init__(
        self, spec: SessionJoinSpec, sides: tuple[Side, Side], ids: _IdPair, until: int
    ) -> None:
        self._spec, self._sides, self._ids, self._until = spec, sides, ids, until
        self._pairs = self._find_pairs()
        self._closed = (self._is_closed(0), self._is_closed(1))

    def run(self, out: Output) -> tuple[int, int]:
        """Emits what is due and removes closed sessions; returns how many stored rows were removed,
        per side."""
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

    def _find_pairs(self) -> _IdPair:
        """Returns pairs (left, right) of overlapping sessions, of which at least one is closing."""
        left, right = (side.sessions for side in self._sides)
        one, other_rows = right.overlapping(left.take(self._ids[0]))
        two, own_rows = left.overlapping(right.take(self._ids[1]))
        others = ~left.flags(self._ids[0])[own_rows]
        return (
            np.concatenate((self._ids[0][one], own_rows[others])),
            np.concatenate((other_rows, self._ids[1][two[others]])),
        )

    def _is_closed(self, number: int) -> Bools:
        """Returns for each pair whether its session of this side is closed."""
        closed: Bools = self._sides[number].sessions.ends(self._pairs[number]) < self._until
        return closed

    def _pairs_to_emit(self) -> _IdPair:
        """Returns the pairs whose rows are emitted now."""
        if self._spec.emit is Emit.CHANGES:
            return _NONE, _NONE
        done = self._closed[0] & self._closed[1]
        own_rows, other_rows = self._pairs[0][done], self._pairs[1][done]
        if not self._spec.how.left_only:
            return own_rows, other_rows
        # A left row is emitted once, with the session that closes first.
        first = least_of_each(own_rows, self._sides[1].sessions.ends(other_rows))
        return own_rows[first], other_rows[first]

    def _emit_pairs(self, pairs: _IdPair, selected: list[SelectedRows], out: Output) -> None:
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
        """Returns closing sessions that overlap none."""
        ids = self._ids[number]
        return ids[~self._sides[number].sessions.flags(self._pairs[number])[ids]]

    def _to_remove(self, number: int, to_emit: Ints) -> Ints:
        """Returns sessions that are not needed any more."""
        if number == 0 and self._spec.how.left_only:
            # Its rows were emitted or never will be: it waits only for its first match.
            return self._sides[0].sessions.unique_ids(self._unmatched(0), to_emit)
        return self._final(number)

    def _final(self, number: int) -> Ints:
        """Returns closed sessions that no open session overlaps."""
        ids = self._ids[number]
        own_rows, closed = self._pairs[number], self._closed[number]
        sessions = self._sides[number].sessions
        stays = sessions.flags(own_rows[~self._closed[1 - number]])
        waiting = sessions.unique_ids(
            own_rows[closed & ~sessions.flags(ids)[own_rows] & ~stays[own_rows]]
        )
        if waiting.size:
            others = self._sides[1 - number].sessions
            open_ids, _ = others.overlapping(sessions.take(waiting), self._until)
            stays[waiting[open_ids]] = True
        return np.concatenate((ids[~stays[ids]], waiting[~stays[waiting]]))
