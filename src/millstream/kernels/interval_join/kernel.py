"""The interval join: right.time in [left.time + lower, left.time + upper], keys equal.

    arrivals ──▶ match new with new, new with held ──▶ pairs
                         │ marks
                         ▼
    held rows, once the watermark has passed their last possible partner ──▶ unmatched rows

A row is held while a partner may come. On a side whose rows come out without a partner, too, each
row carries a mark: one that falls due is known to be unmatched without a second search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import State, StepResult, WatermarkAdvance
from millstream.kernels.core.key_index import Ints
from millstream.kernels.interval_join.classify import NOTHING, Arrivals, sort_out
from millstream.kernels.interval_join.matching import Matcher, Partner
from millstream.kernels.interval_join.spec import IntervalJoinSpec, Side, sides_of
from millstream.kernels.state import limits
from millstream.kernels.state import match_flags as marks
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest, Segment
from millstream.kernels.state.segment_log import SegmentLog
from millstream.kernels.state.sorted_rows import Rows, take
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import LateAction, StateLimit
from millstream.values import JoinType

__all__ = ["COUNTS", "IntervalJoin", "IntervalJoinSpec"]

_OUTCOMES = (
    RowOutcome.ACCEPTED,
    RowOutcome.LATE,
    RowOutcome.REASSIGNED,
    RowOutcome.MISSING_KEY,
    RowOutcome.UNMATCHED_PREDICATE,
    *ACCEPTED_OUTCOMES,
)
COUNTS = (
    *(f"{side}.{outcome}" for side in ("left", "right") for outcome in _OUTCOMES),
    "matches", "unmatched", "lookups", "peak_rows", "state_rows", "state_bytes", "segments",
)  # fmt: skip


class IntervalJoin:
    def __init__(
        self,
        spec: IntervalJoinSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns. One not given is learnt from the frames
        seen; until then it comes out as NULLs of no type."""
        self.spec = spec
        self.sides = sides_of(spec)
        self.matcher = Matcher(spec, self.sides)
        self._types: dict[str, Any] = dict(types or {})
        self._nulls: dict[str, pl.Series] = {}
        self._settings = settings or LogSettings()

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult:
        meta = state.value("meta")
        manifest = Manifest.load(meta.get(), len(self.sides))
        counts = manifest.counts = dict.fromkeys(COUNTS, 0) | manifest.counts
        after = max(clock.after, clock.before, manifest.watermark)
        arrived = [self._arrivals(side, inputs, clock.before) for side in self.sides]
        idle = all(one is NOTHING for one in arrived) and not clock.trims
        if idle and not self._time_matters(manifest, after):
            return StepResult(counts=dict(counts))

        layouts = (self.sides[0].layout, self.sides[1].layout)
        log = SegmentLog(state.map("segments"), manifest, layouts, self._settings)
        run = _Step(self, log, after)
        for side, arrivals in zip(self.sides, arrived, strict=True):
            run.account(side, arrivals)
        run.match(arrived[0].rows, arrived[1].rows)
        for side, arrivals in zip(self.sides, arrived, strict=True):
            run.release(side, arrivals.rows)
        run.evict(clock.limit_or(self.spec.limit))
        log.drop_empty()
        run.count_state()
        manifest.watermark = after
        log.flush()
        meta.put(manifest.dump())
        run.result.counts = dict(counts)
        return run.result

    def _arrivals(self, side: Side, inputs: dict[int, pl.DataFrame], before: int) -> Arrivals:
        frame = inputs.get(side.number)
        if frame is None:
            return NOTHING
        for name in side.output:
            if name not in self._types:
                self._types[name] = frame.schema[name]
        columns = side.columns(frame.columns)
        return sort_out(frame, before, self.spec.late, columns, marked=side.layout.marked)

    def _time_matters(self, manifest: Manifest, after: int) -> bool:
        """Is anything due, or of no more use?"""
        for side, segments in zip(self.sides, manifest.tables, strict=True):
            due_from, due_to = side.due(manifest.watermark), side.due(after)
            for segment in segments:
                if segment.first < side.live(after):
                    return True
                if side.preserved and segment.first < due_to and segment.last >= due_from:
                    return True
        return False

    def alone(self, side: Side, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows of one side as they come out without a partner."""
        mine = frame if frame.columns == list(side.output) else frame[:, list(side.output)]
        if self.spec.how.left_only:
            return mine
        names = self.sides[1 - side.number].output
        nulls = [self._null(name).new_from_index(0, len(mine)) for name in names]
        if side.number == 0:
            return mine.hstack(nulls)
        return pl.DataFrame([*nulls, *mine.get_columns()])

    def _null(self, name: str) -> pl.Series:
        if name not in self._types:
            return pl.Series(name, [None])
        if name not in self._nulls:
            self._nulls[name] = pl.Series(name, [None], dtype=self._types[name])
        return self._nulls[name]


class _Step:
    """What one step does to the log, and what it gives."""

    def __init__(self, join: IntervalJoin, log: SegmentLog, after: int) -> None:
        self.join, self.log, self.after = join, log, after
        self.counts = log.manifest.counts
        self.due_since = log.manifest.watermark
        self.result = StepResult()

    def account(self, side: Side, arrivals: Arrivals) -> None:
        late, unmatchable, rows = arrivals.late, arrivals.unmatchable, arrivals.rows
        self.counts[f"{side.name}.reassigned"] += arrivals.reassigned
        if late is not None:
            self.counts[f"{side.name}.late"] += late.height
            if self.join.spec.late.action is LateAction.SIDE_OUTPUT:
                self.result.late[side.number] = late
        if unmatchable is not None and side.preserved:
            self.counts[f"{side.name}.accepted"] += unmatchable.height
            self.counts[f"{side.name}.processed"] += unmatchable.height
            self._emit_alone(side, unmatchable)
        elif unmatchable is not None:
            missing = unmatchable.height - arrivals.unmatched_predicate
            self.counts[f"{side.name}.missing_key"] += missing
            self.counts[f"{side.name}.unmatched_predicate"] += arrivals.unmatched_predicate
        if rows is not None:
            self.counts[f"{side.name}.accepted"] += len(rows)
            self.counts["lookups"] += len(rows)

    def match(self, left: Rows | None, right: Rows | None) -> None:
        """Every new row with the other side's held and new rows, each pair once."""
        if left is not None:
            held = self._reachable(self.join.sides[0], left)
            self._match_side(0, left, held if right is None else [(None, right), *held])
        if right is not None:
            self._match_side(1, right, self._reachable(self.join.sides[1], right))

    def _reachable(self, side: Side, new: Rows) -> Iterable[Partner]:
        first, last = int(new.times[0]), int(new.times[-1])
        return self.log.reaching(1 - side.number, first + side.lower, last + side.upper)

    def _match_side(self, number: int, new: Rows, partners: Iterable[Partner]) -> None:
        for matches in self.join.matcher.match(self.join.sides[number], new, partners):
            if matches.rows is not None:
                self.counts["matches"] += matches.rows.height
                self.result.main.append(matches.rows)
            for pair in matches.found:
                self._mark(number, new, None, pair.new)
                self._mark(1 - number, pair.rows, pair.segment, pair.theirs)

    def _mark(self, number: int, rows: Rows, segment: Segment | None, numbers: Ints) -> None:
        if rows.matched is None or not numbers.size:
            return
        once = self.join.sides[number].layout.once
        if segment is None:
            fresh = marks.set_marks(rows.matched, numbers, once)
        else:
            fresh = self.log.mark(number, segment, numbers)
        if not once:
            return
        self.counts["matches"] += fresh.size
        if segment is not None:
            self.counts["left.processed"] += fresh.size
        if self.join.spec.how is JoinType.SEMI and fresh.size:
            columns = list(self.join.spec.left_columns)
            self.result.main.append(take(rows.frame[:, columns], fresh))

    def release(self, side: Side, new: Rows | None) -> None:
        """Lets unmatched rows out that are due, forgets what is of no more use, keeps the rest."""
        if side.preserved:
            due_from, due_to = side.due(self.due_since), side.due(self.after)
            for segment, rows in self.log.reaching(side.number, due_from, due_to - 1):
                start = max(segment.skip, rows.rows_before(due_from))
                self._emit_unmatched(side, rows, start, rows.rows_before(due_to))
            if new is not None:
                self._emit_unmatched(side, new, 0, new.rows_before(due_to))
        live_from = side.live(self.after)
        expired = self.log.expire(side.number, live_from)
        if new is not None:
            used_up = new.matched if side.layout.once else None
            live = new.rows_before(live_from)
            kept = new.only(live, used_up)
            expired += live
            self.counts[f"{side.name}.processed"] += len(new) - live - len(kept)
            self.log.append(side.number, kept, live_from)
        self.counts[f"{side.name}.expired"] += expired

    def evict(self, limit: StateLimit) -> None:
        for number, rows, numbers in limits.enforce(self.log, limit):
            side = self.join.sides[number]
            self.counts[f"{side.name}.evicted"] += numbers.size
            if side.preserved and rows.matched is not None:
                waiting = rows.times[numbers] >= side.due(self.after)
                self._emit_rows(side, rows, numbers[waiting & ~rows.matched[numbers]])

    def _emit_unmatched(self, side: Side, rows: Rows, start: int, stop: int) -> None:
        if start < stop and rows.matched is not None:
            self._emit_rows(side, rows, start + np.flatnonzero(~rows.matched[start:stop]))

    def _emit_rows(self, side: Side, rows: Rows, numbers: Ints) -> None:
        if numbers.size:
            self._emit_alone(side, take(rows.content, numbers))

    def _emit_alone(self, side: Side, frame: pl.DataFrame) -> None:
        self.counts["unmatched"] += frame.height
        self.result.main.append(self.join.alone(side, frame))

    def count_state(self) -> None:
        tables = self.log.manifest.tables
        for side in self.join.sides:
            held = sum(segment.held for segment in tables[side.number])
            self.counts[f"{side.name}.in_state"] = held
        self.counts["state_rows"] = self.log.held_rows
        self.counts["state_bytes"] = self.log.held_bytes
        self.counts["segments"] = sum(map(len, tables))
        self.counts["peak_rows"] = max(self.counts["peak_rows"], self.log.held_rows)
