"""Output when sessions close, if a predicate over pairs of rows decides which of them match.

Pairs of two closed sessions are evaluated once, when the second one closes:

    row of a closed session ── has a true pair ──▶ the pair is emitted, and the row is flagged
                            ── all overlapping sessions are closed, no flag ──▶ emitted as unmatched

A session stays in state until no open session overlaps it; until then its rows keep their flags.
The window of an unmatched row extends to the overlapping session that ends last: before its end,
the row could have matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.predicate import columns_by_side, evaluate
from millstream.kernels.session_join.closing import Closing
from millstream.kernels.session_join.early_output import enclosing_windows
from millstream.kernels.session_join.output import Output, Windows, cross
from millstream.kernels.session_join.search import least_of_each
from millstream.kernels.session_join.session_rows import Ranges, RowsBySession
from millstream.kernels.session_join.side import SelectedRows, Side
from millstream.kernels.session_join.state import HAS_MATCH
from millstream.values import JoinType


@dataclass(slots=True)
class _Rows:
    """The rows of one side's sessions that are evaluated or emitted."""

    ids: Ints  # of the sessions, ascending
    frame: pl.DataFrame
    ranges: Ranges
    had_match: Bools  # before this step
    has_match: Bools

    @classmethod
    def of(cls, side: Side, ids: Ints, rows: RowsBySession) -> _Rows:
        flags = np.zeros(int(rows.ranges.sizes.sum()), np.bool_)
        if side.tracks_matches:
            flags = rows.frame[HAS_MATCH].to_numpy()
        return cls(ids, rows.frame, rows.ranges, flags, flags.copy())

    @property
    def sessions(self) -> Ints:
        """The number of each row's session."""
        return np.repeat(self.ids, self.ranges.sizes)


class PredicateClosing(Closing):
    """Sessions that close in this step, if rows match by a predicate."""

    def run(self, out: Output) -> tuple[int, int]:
        done = self._closed[0] & self._closed[1]
        pairs = self._pairs[0][done], self._pairs[1][done]
        final = self._final(0), self._final(1)
        selected = []
        rows: list[_Rows | None] = []
        for side, closed, finished in zip(self._sides, pairs, final, strict=True):
            selected.append(side.rows_of(side.sessions.unique_ids(closed, finished)))
            columns = out.columns[side.number]
            rows.append(self._read(side, selected[-1], closed, finished, columns))
        if rows[0] is not None and rows[1] is not None:
            self._match(rows[0], rows[1], pairs, out)
        for side, found, chosen, finished in zip(self._sides, rows, selected, final, strict=True):
            if found is not None and side.preserved:
                self._emit_unmatched(side, found, pairs, finished, out)
            if found is not None and side.tracks_matches:
                is_final = side.sessions.flags(finished)[found.sessions]
                flagged = found.has_match & ~found.had_match & ~is_final
                if flagged.any():
                    chosen.set_has_match(found.ids, flagged, side.rows)
        for side, finished in zip(self._sides, final, strict=True):
            side.sessions.remove(finished)
        return selected[0].remove(final[0]), selected[1].remove(final[1])

    def _read(
        self,
        side: Side,
        selected: SelectedRows,
        closed: Ints,
        finished: Ints,
        output: Sequence[str],
    ) -> _Rows | None:
        ids = side.sessions.unique_ids(closed, finished if side.preserved else closed)
        read = columns_by_side(self._spec.pair_predicate)[side.number]
        flag = (HAS_MATCH,) if side.tracks_matches else ()
        rows = selected.take(ids, [*dict.fromkeys((*output, *read, *flag))])
        return None if rows is None else _Rows.of(side, ids, rows)

    def _match(self, left: _Rows, right: _Rows, pairs: tuple[Ints, Ints], out: Output) -> None:
        """Evaluates all pairs of rows; emits those that match."""
        windows = enclosing_windows(
            self._sides[0].windows(pairs[0]), self._sides[1].windows(pairs[1])
        )
        here, there = (
            np.searchsorted(rows.ids, ids) for rows, ids in zip((left, right), pairs, strict=True)
        )
        how = self._spec.how
        ends = self._sides[1].sessions.ends(pairs[1])
        first = np.zeros(0, np.int64), np.zeros(0, np.int64)  # of SEMI: row, pair of sessions
        for some in cross(left.ranges, right.ranges, here, there):
            pair, one, two = some.all()
            is_match = self._is_match(left.frame, right.frame, one, two)
            pair, one, two = pair[is_match], one[is_match], two[is_match]
            left.has_match[one] = True
            right.has_match[two] = True
            if how is JoinType.SEMI:
                new = ~left.had_match[one]
                one, pair = (
                    np.concatenate(each) for each in zip(first, (one[new], pair[new]), strict=True)
                )
                least = least_of_each(one, ends[pair])
                first = one[least], pair[least]
            elif how is not JoinType.ANTI:
                out.row_pairs(
                    take(left.frame[:, list(out.columns[0])], one),
                    take(right.frame[:, list(out.columns[1])], two),
                    Windows(windows.start[pair], windows.end[pair]),
                )
        if how is JoinType.SEMI:
            one, pair = first
            out.matched_rows(
                take(left.frame[:, list(out.columns[0])], one),
                Windows(windows.start[pair], windows.end[pair]),
            )

    def _is_match(self, left: pl.DataFrame, right: pl.DataFrame, one: Ints, two: Ints) -> Bools:
        predicate = self._spec.pair_predicate
        assert predicate is not None
        read = columns_by_side(predicate)
        values = {name: left[name].gather(one) for name in read[0]}
        values |= {name: right[name].gather(two) for name in read[1]}
        true = evaluate(predicate, values.__getitem__, one.size).fill_null(value=False)
        flags: Bools = true.to_numpy()
        return flags

    def _emit_unmatched(
        self, side: Side, rows: _Rows, pairs: tuple[Ints, Ints], final: Ints, out: Output
    ) -> None:
        is_final = side.sessions.flags(final)[rows.sessions]
        numbers = np.flatnonzero(is_final & ~rows.has_match)
        if not numbers.size:
            return
        windows = side.windows(rows.ids)
        own_ids, other_ids = pairs[side.number], pairs[1 - side.number]
        other = self._sides[1 - side.number]
        last = least_of_each(own_ids, -other.sessions.ends(other_ids))
        own_ids, other_ids = own_ids[last], other_ids[last]
        wide = enclosing_windows(side.windows(own_ids), other.windows(other_ids))
        places = np.searchsorted(rows.ids, own_ids)
        windows.start[places], windows.end[places] = wide
        at = np.searchsorted(rows.ids, rows.sessions[numbers])
        out.unmatched_rows(
            side.number,
            take(rows.frame, numbers),
            Windows(windows.start[at], windows.end[at]),
        )
