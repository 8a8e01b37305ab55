"""The interval join: right.time in [left.time + lower, left.time + upper], and equal keys.

    new rows ──▶ match new with new, and new with stored rows ──▶ pairs
                         │ match flags
                         ▼
    stored rows, once the watermark has passed their match interval ──▶ unmatched rows

A step does this, for each side:

    1. classify     separate late rows, and rows that can match nothing: rows without a key and
                    rows that fail the ON predicate over their own columns
    2. match        find pairs, emit them and set the match flags of their rows
    3. expire       emit unmatched rows whose match interval the watermark has passed, remove rows
                    that can match nothing any more, and store the other new rows
    4. evict        apply the state limit

Rows stay in state while a match may arrive. Rows of a preserved side have a match flag each, so
that unmatched rows are known without a second search. SEMI and ANTI remove a left row at its first
match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import State, StepResult, WatermarkAdvance
from millstream.kernels.core.key_index import Ints
from millstream.kernels.interval_join.classify import NO_ROWS, ClassifiedRows, classify
from millstream.kernels.interval_join.matching import Candidate, Matcher
from millstream.kernels.interval_join.spec import IntervalJoinSpec, Side, sides_of
from millstream.kernels.state import limits, match_flags
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest, Segment
from millstream.kernels.state.segment_log import SegmentLog
from millstream.kernels.state.sorted_rows import Rows
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import LateAction, StateLimit
from millstream.values import JoinType

__all__ = ["COUNTS", "IntervalJoin", "IntervalJoinSpec"]

_OUTCOMES = (
    RowOutcome.ACCEPTED,
    RowOutcome.LATE,
    RowOutcome.REASSIGNED,
    RowOutcome.MISSING_KEY,
    RowOutcome.FAILED_PREDICATE,
    *ACCEPTED_OUTCOMES,
)
COUNTS = (
    *(f"{side}.{outcome}" for side in ("left", "right") for outcome in _OUTCOMES),
    "matches", "unmatched", "peak_rows", "state_rows", "state_bytes", "segments",
)  # fmt: skip


class IntervalJoin:
    """The kernel of interval joins and window joins."""

    def __init__(
        self,
        spec: IntervalJoinSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns. Types that are missing are taken from the
        first frames; until then, unmatched rows have NULLs of type Null."""
        self.spec = spec
        self.sides = sides_of(spec)
        self.matcher = Matcher(spec, self.sides)
        self._types: dict[str, Any] = dict(types or {})
        self._nulls: dict[str, pl.Series] = {}
        self._settings = settings or LogSettings()

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        meta = state.value("meta")
        manifest = Manifest.load(meta.get(), len(self.sides))
        counts = manifest.counts = dict.fromkeys(COUNTS, 0) | manifest.counts
        after = max(advance.after, advance.before, manifest.watermark)
        classified = [self._classify(side, inputs, advance.before) for side in self.sides]
        idle = all(one is NO_ROWS for one in classified) and not advance.enforces_limit
        if idle and not self._has_time_work(manifest, after):
            return StepResult(counts=dict(counts))

        layouts = (self.sides[0].layout, self.sides[1].layout)
        log = SegmentLog(state.map("segments"), manifest, layouts, self._settings)
        run = _Step(self, log, after)
        for side, side_rows in zip(self.sides, classified, strict=True):
            run.emit_late_and_unmatchable(side, side_rows)
        run.match(classified[0].rows, classified[1].rows)
        for side, side_rows in zip(self.sides, classified, strict=True):
            run.expire_and_emit_unmatched(side, side_rows.rows)
        run.evict(advance.effective_limit(self.spec.limit))
        log.drop_empty()
        run.count_state()
        manifest.watermark = after
        log.flush()
        meta.put(manifest.dump())
        run.result.counts = dict(counts)
        return run.result

    def _classify(self, side: Side, inputs: dict[int, pl.DataFrame], before: int) -> ClassifiedRows:
        frame = inputs.get(side.number)
        if frame is None:
            return NO_ROWS
        for name in side.output:
            if name not in self._types:
                self._types[name] = frame.schema[name]
        columns = side.columns(frame.columns)
        return classify(
            frame, before, self.spec.late, columns, has_match_flags=side.layout.has_match_flags
        )

    def _has_time_work(self, manifest: Manifest, after: int) -> bool:
        """Returns whether the watermark by itself causes output or expiry: if not, an empty step
        returns early."""
        for side, segments in zip(self.sides, manifest.tables, strict=True):
            final_from, final_to = (
                side.match_final_before(manifest.watermark),
                side.match_final_before(after),
            )
            for segment in segments:
                if segment.first < side.live_from(after):
                    return True
                if side.preserved and segment.first < final_to and segment.last >= final_from:
                    return True
        return False

    def pad_unmatched(self, side: Side, frame: pl.DataFrame) -> pl.DataFrame:
        """Returns unmatched rows of one side with the output's columns, and NULLs for the other
        side."""
        own = frame if frame.columns == list(side.output) else frame[:, list(side.output)]
        if self.spec.how.left_only:
            return own
        names = self.sides[1 - side.number].output
        nulls = [self._null(name).new_from_index(0, len(own)) for name in names]
        if side.number == 0:
            return own.hstack(nulls)
        return pl.DataFrame([*nulls, *own.get_columns()])

    def _null(self, name: str) -> pl.Series:
        if name not in self._types:
            return pl.Series(name, [None])
        if name not in self._nulls:
            self._nulls[name] = pl.Series(name, [None], dtype=self._types[name])
        return self._nulls[name]


class _Step:
    """One step: updates the segment log and the counts, and collects the result."""

    def __init__(self, join: IntervalJoin, log: SegmentLog, after: int) -> None:
        self.join, self.log, self.after = join, log, after
        self.counts = log.manifest.counts
        self.watermark_before = log.manifest.watermark
        self.result = StepResult()

    def emit_late_and_unmatchable(self, side: Side, side_rows: ClassifiedRows) -> None:
        """Emits late rows, and unmatched rows of a preserved side that have no key or fail the ON
        predicate over their own columns; counts all input rows."""
        late, unmatchable, rows = side_rows.late, side_rows.unmatchable, side_rows.rows
        self.counts[f"{side.name}.reassigned"] += side_rows.reassigned
        if late is not None:
            self.counts[f"{side.name}.late"] += late.height
            if self.join.spec.late.action is LateAction.SIDE_OUTPUT:
                self.result.late[side.number] = late
        if unmatchable is not None and side.preserved:
            self.counts[f"{side.name}.accepted"] += unmatchable.height
            self.counts[f"{side.name}.processed"] += unmatchable.height
            self._emit_frame(side, unmatchable)
        elif unmatchable is not None:
            missing = unmatchable.height - side_rows.failed_predicate
            self.counts[f"{side.name}.missing_key"] += missing
            self.counts[f"{side.name}.failed_predicate"] += side_rows.failed_predicate
        if rows is not None:
            self.counts[f"{side.name}.accepted"] += len(rows)

    def match(self, left: Rows | None, right: Rows | None) -> None:
        """Matches new rows with stored and new rows of the other side. Each pair is found once."""
        if left is not None:
            stored = self._candidates(self.join.sides[0], left)
            self._match_side(0, left, stored if right is None else [(None, right), *stored])
        if right is not None:
            self._match_side(1, right, self._candidates(self.join.sides[1], right))

    def _candidates(self, side: Side, new: Rows) -> Iterable[Candidate]:
        """Returns stored rows of the other side whose times may be within bounds of the new
        rows."""
        first, last = int(new.times[0]), int(new.times[-1])
        return self.log.overlapping(1 - side.number, first + side.lower, last + side.upper)

    def _match_side(self, number: int, new: Rows, candidates: Iterable[Candidate]) -> None:
        for matches in self.join.matcher.match(self.join.sides[number], new, candidates):
            if matches.rows is not None:
                self.counts["matches"] += matches.rows.height
                self.result.main.append(matches.rows)
            for pair in matches.found:
                self._set_flags(number, new, None, pair.new_numbers)
                self._set_flags(1 - number, pair.other, pair.segment, pair.other_numbers)

    def _set_flags(self, number: int, rows: Rows, segment: Segment | None, numbers: Ints) -> None:
        """Flags rows as matched. SEMI and ANTI also remove them; SEMI emits them."""
        if rows.matched is None or not numbers.size:
            return
        removes_matched = self.join.sides[number].layout.removes_matched
        if segment is None:
            fresh = match_flags.set_flags(rows.matched, numbers, removes_matched)
        else:
            fresh = self.log.set_flags(number, segment, numbers)
        if not removes_matched:
            return
        if segment is not None:
            self.counts["left.processed"] += fresh.size
        if self.join.spec.how is JoinType.SEMI and fresh.size:
            self.counts["matches"] += fresh.size
            columns = list(self.join.spec.left_columns)
            self.result.main.append(take(rows.frame[:, columns], fresh))

    def expire_and_emit_unmatched(self, side: Side, new: Rows | None) -> None:
        """Emits unmatched rows whose match interval has ended, expires rows, and stores the
        remaining new rows."""
        if side.preserved:
            final_from, final_to = (
                side.match_final_before(self.watermark_before),
                side.match_final_before(self.after),
            )
            for segment, rows in self.log.overlapping(side.number, final_from, final_to - 1):
                start = max(segment.skip, rows.rows_before(final_from))
                self._emit_unmatched(side, rows, start, rows.rows_before(final_to))
            if new is not None:
                self._emit_unmatched(side, new, 0, new.rows_before(final_to))
        live_from = side.live_from(self.after)
        expired = self.log.expire(side.number, live_from)
        if new is not None:
            flagged = new.matched if side.layout.removes_matched else None
            expired_new = new.rows_before(live_from)
            retained = new.select(expired_new, flagged)
            expired += expired_new
            self.counts[f"{side.name}.processed"] += len(new) - expired_new - len(retained)
            self.log.append(side.number, retained, live_from)
        self.counts[f"{side.name}.expired"] += expired

    def evict(self, limit: StateLimit) -> None:
        """Applies the state limit. Evicted rows of a preserved side that have not matched are
        emitted."""
        for number, rows, numbers in limits.enforce(self.log, limit):
            side = self.join.sides[number]
            self.counts[f"{side.name}.evicted"] += numbers.size
            if side.preserved and rows.matched is not None:
                undecided = rows.times[numbers] >= side.match_final_before(self.after)
                self._emit_rows(side, rows, numbers[undecided & ~rows.matched[numbers]])

    def _emit_unmatched(self, side: Side, rows: Rows, start: int, stop: int) -> None:
        if start < stop and rows.matched is not None:
            self._emit_rows(side, rows, start + np.flatnonzero(~rows.matched[start:stop]))

    def _emit_rows(self, side: Side, rows: Rows, numbers: Ints) -> None:
        if numbers.size:
            self._emit_frame(side, take(rows.content, numbers))

    def _emit_frame(self, side: Side, frame: pl.DataFrame) -> None:
        self.counts["unmatched"] += frame.height
        self.result.main.append(self.join.pad_unmatched(side, frame))

    def count_state(self) -> None:
        """Counts the rows in state."""
        tables = self.log.manifest.tables
        for side in self.join.sides:
            stored = sum(segment.live_rows for segment in tables[side.number])
            self.counts[f"{side.name}.in_state"] = stored
        self.counts["state_rows"] = self.log.row_count
        self.counts["state_bytes"] = self.log.byte_count
        self.counts["segments"] = sum(map(len, tables))
        self.counts["peak_rows"] = max(self.counts["peak_rows"], self.log.row_count)
