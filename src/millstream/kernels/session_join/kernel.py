"""The session join: sessions of one key and two sides that share a moment, row with row.

    rows ──▶ chains ──▶ merged with the open sessions that they touch
                              │ CHANGES: rows of sessions that meet come out
                              ▼
             closed, once the watermark has passed their end ──▶ FINAL: pairs; rows alone

A session is [its first row, its last + gap]: one that touches another of its side becomes one with
it, one that touches one of the other side has met it. Sessions only grow, so two that have met stay
together, and it is enough to look at those that grow or close. Rows are stored apart from sessions
and are read when they come out: a step costs what is new and due, however much is in state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.kernel import HASH, TIME, State, StepResult, WatermarkAdvance
from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.specs import SessionJoinSpec
from millstream.kernels.interval_join.kernel import COUNTS
from millstream.kernels.session_join.classify import Arrived, Judge
from millstream.kernels.session_join.closing import Closing
from millstream.kernels.session_join.early_output import tell_pairs
from millstream.kernels.session_join.limits import early, excess
from millstream.kernels.session_join.output import Out, Windows
from millstream.kernels.session_join.semi_anti import close_known, spend_left
from millstream.kernels.session_join.session_rows import SideRows
from millstream.kernels.session_join.sessions import Sessions
from millstream.kernels.session_join.side import Side
from millstream.kernels.session_join.state import SessionJoinState
from millstream.kernels.state.compaction import LogSettings
from millstream.temporal import END_OF_TIME, Emit, LateAction, StateLimit
from millstream.values import JoinType

__all__ = ["COUNTS", "SessionJoin", "SessionJoinSpec"]

_SIDES = ("left", "right")


class SessionJoin:
    def __init__(
        self,
        spec: SessionJoinSpec,
        types: Mapping[str, Any],
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns: a row may come out before one of the
        other side was seen."""
        self.spec = spec
        self._types = dict(types)
        self._settings = settings
        at_once = spec.emit is Emit.CHANGES or spec.how is JoinType.ANTI
        self._once = spec.how.left_only and at_once
        keys = (spec.left_keys, spec.right_keys)
        self._keys = ((), ()) if spec.key_is_hash else keys
        self._columns = (
            _kept(*spec.left_columns, *keys[0]),
            _kept(*(() if spec.how.left_only else spec.right_columns), *keys[1]),
        )

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult:
        buffer = SessionJoinState(self.spec, state, self._settings)
        after = max(clock.after, clock.before, buffer.watermark)
        frames = [inputs.get(number) for number in (0, 1)]
        frames = [None if frame is None or not frame.height else frame for frame in frames]
        lateness = self.spec.lateness
        since, until = buffer.watermark - lateness, after - lateness
        idle = all(frame is None for frame in frames) and not clock.trims
        if idle and not buffer.any_closing(since, until):
            return StepResult(counts=dict(buffer.counts))

        out = Out(self.spec, self._types, buffer.counts)
        sides = self._sides(buffer)
        for side, frame in zip(sides, frames, strict=True):
            if frame is not None:
                self._arrive(side, frame, clock.before, out)
        if self._once:
            spend_left(*sides, self.spec.how, out)
        elif self.spec.emit is Emit.CHANGES:
            tell_pairs(*sides, out)
        ids = sides[0].sessions.closing(since, until), sides[1].sessions.closing(since, until)
        self._close(sides, ids, until, out)
        for side in sides:
            side.keep(until - self.spec.gap)
        self._evict(buffer, until, clock.limit_or(self.spec.limit), out)
        buffer.close(after)
        out.result.counts = dict(buffer.counts)
        return out.result

    def _sides(self, buffer: SessionJoinState) -> tuple[Side, Side]:
        how = self.spec.how

        def side(number: int, preserved: bool, holds_rows: bool) -> Side:
            rows = SideRows(buffer, number, self._keys[number], self.spec.gap)
            sessions = Sessions(buffer, number)
            return Side(number, _SIDES[number], sessions, rows, preserved, holds_rows)

        return side(0, how.preserves_left, True), side(1, how.preserves_right, not how.left_only)

    def _arrive(self, side: Side, frame: pl.DataFrame, before: int, out: Out) -> None:
        spec, counts = self.spec, out.counts
        judge = Judge(
            spec.gap,
            before,
            before - spec.lateness,
            spec.late,
            self._keys[side.number],
            self._columns[side.number],
        )
        arrived = judge.sort_out(frame, side.sessions)
        self._account(side, arrived, out)
        if arrived.new is not None and arrived.fragments is not None:
            counts[f"{side.name}.accepted"] += arrived.new.frame.height
            counts["lookups"] += arrived.new.frame.height
            side.arrive(arrived.new, arrived.fragments, judge.open_from)

    def _account(self, side: Side, arrived: Arrived, out: Out) -> None:
        counts = out.counts
        counts[f"{side.name}.reassigned"] += arrived.reassigned
        if arrived.late is not None:
            counts[f"{side.name}.late"] += arrived.late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                out.result.late[side.number] = arrived.late
        if arrived.keyless is None:
            return
        if not side.preserved:
            counts[f"{side.name}.missing_key"] += arrived.keyless.height
            return
        # It can meet none and grow no more: all that is to be known of it is known.
        counts[f"{side.name}.accepted"] += arrived.keyless.height
        times = arrived.keyless[TIME].to_numpy()
        out.rows_alone(side.number, arrived.keyless, Windows(times, times + self.spec.gap))

    def _close(
        self, sides: tuple[Side, Side], ids: tuple[Ints, Ints], until: int, out: Out
    ) -> tuple[int, int]:
        if self._once:
            return close_known(*sides, ids, out)
        return Closing(self.spec, sides, ids, until).run(out)

    def _evict(self, buffer: SessionJoinState, open_from: int, limit: StateLimit, out: Out) -> None:
        while count := excess(buffer, limit):
            sides = self._sides(buffer)
            rows = self._close(sides, early(sides, count, open_from), 2 * END_OF_TIME - 1, out)
            for side, gone in zip(sides, rows, strict=True):
                buffer.counts[f"{side.name}.evicted"] += gone
            buffer.drop_empty()


def _kept(*names: str) -> list[str]:
    return [*dict.fromkeys(name for name in names if name not in {TIME, HASH}), TIME, HASH]
