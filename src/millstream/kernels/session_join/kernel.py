"""The session join: rows of sessions that have the same key and overlap.

    rows ──▶ chains ──▶ merged with the open sessions that they adjoin
                              │ CHANGES: rows of overlapping sessions are emitted
                              ▼
             closed, once the watermark has passed their end ──▶ FINAL: pairs; unmatched rows

A session is [its first row, its last row + gap]. Sessions of one side that overlap are merged;
sessions of two sides that overlap match. Sessions only grow, so two that overlap stay matched, and
each step looks only at sessions that grow or close. Rows are stored apart from sessions and read
when they are emitted: the cost of a step depends on what is new and due, not on the size of the
state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.kernel import HASH, TIME, State, StepResult, WatermarkAdvance
from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.predicate import columns_by_side
from millstream.kernels.core.specs import SessionJoinSpec
from millstream.kernels.interval_join.kernel import COUNTS
from millstream.kernels.session_join.classify import ClassifiedRows, Classifier
from millstream.kernels.session_join.closing import Closing
from millstream.kernels.session_join.early_close import choose_sessions, excess_rows
from millstream.kernels.session_join.early_output import emit_new_pairs
from millstream.kernels.session_join.output import Output, Windows
from millstream.kernels.session_join.predicate_closing import PredicateClosing
from millstream.kernels.session_join.semi_anti import close_semi_anti, drop_matched_left
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
    """The kernel of session joins."""

    def __init__(
        self,
        spec: SessionJoinSpec,
        types: Mapping[str, Any],
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns: a row may be emitted before the other
        side has rows."""
        self.spec = spec
        self._types = dict(types)
        self._settings = settings
        at_once = spec.emit is Emit.CHANGES or spec.how is JoinType.ANTI
        self._once = spec.how.left_only and at_once and spec.pair_predicate is None
        read = columns_by_side(spec.pair_predicate)
        keys = (spec.left_keys, spec.right_keys)
        self._keys = ((), ()) if spec.key_is_hash else keys
        self._columns = (
            _columns_to_store(*spec.left_columns, *keys[0], *read[0]),
            _columns_to_store(
                *(() if spec.how.left_only else spec.right_columns), *keys[1], *read[1]
            ),
        )

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        buffer = SessionJoinState(self.spec, state, self._settings)
        after = max(advance.after, advance.before, buffer.watermark)
        frames = [inputs.get(number) for number in (0, 1)]
        frames = [None if frame is None or not frame.height else frame for frame in frames]
        lateness = self.spec.lateness
        since, until = buffer.watermark - lateness, after - lateness
        idle = all(frame is None for frame in frames) and not advance.enforces_limit
        if idle and not buffer.any_closing(since, until):
            return StepResult(counts=dict(buffer.counts))

        out = Output(self.spec, self._types, buffer.counts)
        sides = self._sides(buffer)
        for side, frame in zip(sides, frames, strict=True):
            if frame is not None:
                self._process_input(side, frame, advance.before, out)
        if self._once:
            drop_matched_left(*sides, self.spec.how, out)
        elif self.spec.emit is Emit.CHANGES:
            emit_new_pairs(*sides, out)
        ids = sides[0].sessions.closing(since, until), sides[1].sessions.closing(since, until)
        self._close(sides, ids, until, out)
        for side in sides:
            side.keep(until - self.spec.gap)
        self._evict(buffer, until, advance.effective_limit(self.spec.limit), out)
        buffer.close(after)
        out.result.counts = dict(buffer.counts)
        return out.result

    def _sides(self, buffer: SessionJoinState) -> tuple[Side, Side]:
        how, has_predicate = self.spec.how, self.spec.pair_predicate is not None

        def side(number: int, preserved: bool, stores_rows: bool) -> Side:
            rows = SideRows(buffer, number, self._keys[number], self.spec.gap)
            sessions = Sessions(buffer, number)
            emits_once = preserved or (how.left_only and number == 0)
            return Side(
                number,
                _SIDES[number],
                sessions,
                rows,
                preserved,
                stores_rows,
                tracks_matches=has_predicate and emits_once,
            )

        stores_right = has_predicate or not how.left_only
        return side(0, how.preserves_left, True), side(1, how.preserves_right, stores_right)

    def _process_input(self, side: Side, frame: pl.DataFrame, before: int, out: Output) -> None:
        spec, counts = self.spec, out.counts
        classifier = Classifier(
            spec.gap,
            before,
            before - spec.lateness,
            spec.late,
            self._keys[side.number],
            self._columns[side.number],
        )
        classified = classifier.classify(frame, side.sessions)
        self._emit_late_and_keyless(side, classified, out)
        if classified.new is not None and classified.fragments is not None:
            counts[f"{side.name}.accepted"] += classified.new.frame.height
            side.add_rows(classified.new, classified.fragments, classifier.open_from)

    def _emit_late_and_keyless(self, side: Side, classified: ClassifiedRows, out: Output) -> None:
        counts = out.counts
        counts[f"{side.name}.reassigned"] += classified.reassigned
        if classified.late is not None:
            counts[f"{side.name}.late"] += classified.late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                out.result.late[side.number] = classified.late
        if classified.keyless is None:
            return
        if not side.preserved:
            counts[f"{side.name}.missing_key"] += classified.keyless.height
            return
        # Rows without a key match nothing and their sessions do not grow, so emit them now.
        counts[f"{side.name}.accepted"] += classified.keyless.height
        times = classified.keyless[TIME].to_numpy()
        out.unmatched_rows(side.number, classified.keyless, Windows(times, times + self.spec.gap))

    def _close(
        self, sides: tuple[Side, Side], ids: tuple[Ints, Ints], until: int, out: Output
    ) -> tuple[int, int]:
        if self._once:
            return close_semi_anti(*sides, ids, out)
        if self.spec.pair_predicate is not None:
            return PredicateClosing(self.spec, sides, ids, until).run(out)
        return Closing(self.spec, sides, ids, until).run(out)

    def _evict(
        self, buffer: SessionJoinState, open_from: int, limit: StateLimit, out: Output
    ) -> None:
        while count := excess_rows(buffer, limit):
            sides = self._sides(buffer)
            rows = self._close(
                sides, choose_sessions(sides, count, open_from), 2 * END_OF_TIME - 1, out
            )
            for side, removed in zip(sides, rows, strict=True):
                buffer.counts[f"{side.name}.evicted"] += removed
            buffer.drop_empty()


def _columns_to_store(*names: str) -> list[str]:
    return [*dict.fromkeys(name for name in names if name not in {TIME, HASH}), TIME, HASH]
