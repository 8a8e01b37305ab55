"""The interval join: right.time in [left.time + lower, left.time + upper], keys equal, predicate true.

    arrivals ──▶ match new with new, new with held ──▶ pairs
                         │ marks
                         ▼
    held rows, once the watermark has passed their last possible partner ──▶ unmatched rows

A row is held while a partner may come. Each row of a side that is kept without a partner carries a
mark, so a row that falls due is known to be unmatched without looking for its partners again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from millstream.kernels import limits, marks
from millstream.kernels.arrivals import Arrivals, sort_out
from millstream.kernels.base import HASH, TIME, Clock, State, StepResult
from millstream.kernels.index import Ints
from millstream.kernels.manifest import Manifest, Segment
from millstream.kernels.merging import LogSettings
from millstream.kernels.predicate import columns_of, evaluate
from millstream.kernels.rows import Rows, take
from millstream.kernels.segments import Layout, SegmentLog
from millstream.plan.nodes import JoinType, Predicate
from millstream.temporal import LateAction, LatePolicy, StateLimit

SIDES = ("left", "right")
OF_A_SIDE = ("accepted", "late", "missing_key", "held", "expired", "evicted", "reassigned")
OF_THE_JOIN = (
    "matches", "unmatched", "lookups", "peak_rows", "state_rows", "state_bytes", "segments",
)  # fmt: skip
COUNTS = tuple(f"{side}.{name}" for side in SIDES for name in OF_A_SIDE) + OF_THE_JOIN


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec:
    """Columns go by their names in the frames, each name on one side only (keys apart)."""

    how: JoinType
    lower: int
    upper: int
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_columns: tuple[str, ...]  # that come out
    right_columns: tuple[str, ...]
    across: Predicate | None = None
    key_is_hash: bool = False  # `_h` is the one integer key itself, so equal hashes are equal keys
    retention: int | None = None  # how long to hold rows, if longer than the bounds need
    limit: StateLimit = StateLimit()  # of one key group
    late: LatePolicy = LatePolicy()


@dataclass(frozen=True, slots=True)
class _Side:
    number: int
    name: str
    keys: tuple[str, ...]
    output: tuple[str, ...]
    reach: int  # a partner's time is at most this much greater than the row's
    hold: int
    preserved: bool  # do rows come out without a partner?
    layout: Layout


class IntervalJoin:
    stores = (("meta", "value"), ("segments", "map"))

    def __init__(
        self,
        spec: IntervalJoinSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings = LogSettings(),
    ) -> None:
        """`types` tells Polars types of output columns; else they are learnt from the frames seen, and
        a column of a side that never was seen comes out as NULLs of no type."""
        self.spec = spec
        self._types: dict[str, Any] = dict(types or {})
        self._settings = settings
        how, keep = spec.how, spec.retention or 0
        left_reach, right_reach = spec.upper, -spec.lower
        self._sides = (
            self._side(0, spec.left_keys, spec.left_columns, left_reach, keep, how.keeps_left),
            self._side(1, spec.right_keys, spec.right_columns, right_reach, keep, how.keeps_right),
        )
        self._outputs = (
            spec.left_columns if how.left_only else (*spec.left_columns, *spec.right_columns)
        )

    def _side(
        self,
        number: int,
        keys: tuple[str, ...],
        output: tuple[str, ...],
        reach: int,
        retention: int,
        preserved: bool,
    ) -> _Side:
        once = number == 0 and self.spec.how.left_only
        same = self.spec.key_is_hash and keys[0] in output
        layout = Layout(keys[0] if same else None, marked=preserved or once, once=once)
        if self.spec.how.left_only and number == 1:
            output = ()
        hold = max(reach, retention) if self.spec.retention is not None else reach
        return _Side(number, SIDES[number], keys, output, reach, hold, preserved, layout)

    def step(self, state: State, inputs: dict[int, pl.DataFrame], clock: Clock) -> StepResult:
        meta = state.value("meta")
        manifest = Manifest.load(meta.get())
        counts = manifest.counts = {name: 0 for name in COUNTS} | manifest.counts
        after = max(clock.after, clock.before, manifest.watermark)
        arrived = [self._arrivals(side, inputs.get(side.number), clock.before) for side in self._sides]
        nothing_new = all(not inputs[number].height for number in inputs)
        if nothing_new and not self._time_matters(manifest, after):
            return StepResult(counts=dict(counts))

        log = SegmentLog(
            state.map("segments"), manifest, (self._sides[0].layout, self._sides[1].layout),
            self._settings,
        )  # fmt: skip
        run = _Step(self, log, after)
        for side, arrivals in zip(self._sides, arrived, strict=True):
            run.account(side, arrivals)
        run.match(arrived[0].rows, arrived[1].rows)
        for side, arrivals in zip(self._sides, arrived, strict=True):
            run.release(side, arrivals.rows)
        run.evict()
        log.drop_empty()
        run.count_state()
        manifest.watermark = after
        log.flush()
        meta.put(manifest.dump())
        run.result.counts = dict(counts)
        return run.result

    def _arrivals(self, side: _Side, frame: pl.DataFrame | None, before: int) -> Arrivals:
        if frame is None:
            return sort_out(None, before, self.spec.late, [], False)
        wanted = [TIME, *side.output, *(() if self.spec.key_is_hash else side.keys)]
        wanted += [name for name in columns_of(self.spec.across) if name in frame.columns]
        columns = [name for name in dict.fromkeys(wanted) if name != HASH] + [HASH]
        for name in side.output:
            self._types.setdefault(name, frame.schema[name])
        return sort_out(frame, before, self.spec.late, columns, side.layout.marked)

    def _time_matters(self, manifest: Manifest, after: int) -> bool:
        """Is anything due, or of no more use?"""
        for side, segments in zip(self._sides, manifest.sides, strict=True):
            for segment in segments:
                if segment.first < after - side.hold:
                    return True
                due_from, due_to = manifest.watermark - side.reach, after - side.reach
                if side.preserved and segment.first < due_to and segment.last >= due_from:
                    return True
        return False

    def candidates(
        self, left: Rows, right: Rows, skip: tuple[int, int]
    ) -> Iterator[tuple[Ints, Ints, pl.DataFrame | None]]:
        """Pairs that match, as row numbers, and as rows unless the left side alone comes out."""
        spec, (one, two) = self.spec, self._sides
        check = () if spec.key_is_hash else tuple(zip(one.keys, two.keys, strict=True))
        rows_out = not spec.how.left_only
        for mine, theirs in left.index.pairs(right.index, spec.lower, spec.upper):
            if skip[0] or skip[1]:
                keep = (mine >= skip[0]) & (theirs >= skip[1])
                mine, theirs = mine[keep], theirs[keep]
            if not mine.size:
                continue
            if not rows_out and not check and spec.across is None:
                yield mine, theirs, None
                continue
            lefts, rights = take(left.frame, mine), take(right.frame, theirs)
            matches = None
            for mine_key, their_key in check:
                same = lefts[mine_key] == rights[their_key]
                matches = same if matches is None else matches & same
            if spec.across is not None:
                held = evaluate(
                    spec.across, lambda name: (lefts if name in lefts.columns else rights)[name]
                )
                matches = held if matches is None else matches & held
            if matches is not None and not (matches.all() and not matches.null_count()):
                matches = matches.fill_null(False)
                chosen = matches.to_numpy()
                mine, theirs = mine[chosen], theirs[chosen]
                lefts, rights = lefts.filter(matches), rights.filter(matches)
            if mine.size:
                pair = None
                if rows_out:
                    pair = lefts.select(one.output).hstack(rights.select(two.output).get_columns())
                yield mine, theirs, pair

    def alone(self, side: _Side, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows of one side as they come out without a partner."""
        mine = frame.select(side.output)
        missing = [name for name in self._outputs if name not in side.output]
        if not missing:
            return mine
        nulls = [
            pl.Series(name, [None], dtype=self._types.get(name, pl.Null)).new_from_index(
                0, frame.height
            )
            for name in missing
        ]
        return mine.with_columns(nulls).select(self._outputs)


class _Step:
    """What one step gathers."""

    def __init__(self, join: IntervalJoin, log: SegmentLog, after: int) -> None:
        self.join, self.log, self.after = join, log, after
        self.counts = log.manifest.counts
        self.due_since = log.manifest.watermark
        self.result = StepResult()

    def account(self, side: _Side, arrivals: Arrivals) -> None:
        late, unmatchable, rows = arrivals.late, arrivals.unmatchable, arrivals.rows
        self.counts[f"{side.name}.reassigned"] += arrivals.reassigned
        if late is not None:
            self.counts[f"{side.name}.late"] += late.height
            if self.join.spec.late.action is LateAction.SIDE_OUTPUT:
                self.result.late[side.number] = late
        if unmatchable is not None:
            if side.preserved:
                self.counts[f"{side.name}.accepted"] += unmatchable.height
                self.counts[f"{side.name}.expired"] += unmatchable.height
                self.emit_alone(side, unmatchable)
            else:
                self.counts[f"{side.name}.missing_key"] += unmatchable.height
        if rows is not None:
            self.counts[f"{side.name}.accepted"] += len(rows)
            self.counts["lookups"] += len(rows)

    def match(self, left: Rows | None, right: Rows | None) -> None:
        lower, upper = self.join.spec.lower, self.join.spec.upper
        if left is not None and right is not None:
            self.pair(left, None, right, None)
        if left is not None:
            first, last = int(left.times[0]), int(left.times[-1])
            for segment, rows in self.log.reaching(1, first + lower, last + upper):
                self.pair(left, None, rows, segment)
        if right is not None:
            first, last = int(right.times[0]), int(right.times[-1])
            for segment, rows in self.log.reaching(0, first - upper, last - lower):
                self.pair(rows, segment, right, None)

    def pair(
        self, left: Rows, left_held: Segment | None, right: Rows, right_held: Segment | None
    ) -> None:
        """Matches two sets of rows, of which at most one is a segment that is held."""
        skip = (left_held.skip if left_held else 0, right_held.skip if right_held else 0)
        how = self.join.spec.how
        for mine, theirs, rows in self.join.candidates(left, right, skip):
            fresh = self.mark(0, left, left_held, mine)
            self.mark(1, right, right_held, theirs)
            if rows is not None:
                self.counts["matches"] += rows.height
                self.result.main.append(rows)
            else:
                self.counts["matches"] += fresh.size
                if how is JoinType.SEMI and fresh.size:
                    found = take(left.frame, fresh)
                    self.result.main.append(found.select(self.join.spec.left_columns))

    def mark(self, side: int, rows: Rows, held: Segment | None, numbers: Ints) -> Ints:
        if rows.matched is None:
            return numbers
        if held is None:
            return marks.set_marks(rows.matched, numbers)
        fresh = self.log.mark(side, held, numbers)
        if self.join._sides[side].layout.once:
            self.counts[f"{SIDES[side]}.expired"] += fresh.size
        return fresh

    def release(self, side: _Side, new: Rows | None) -> None:
        """Lets unmatched rows out that are due, forgets what is of no more use, keeps the rest."""
        if side.preserved:
            due_from, due_to = self.due_since - side.reach, self.after - side.reach
            for segment, rows in self.log.reaching(side.number, due_from, due_to - 1):
                start = max(segment.skip, rows.rows_before(due_from))
                self.emit_unmatched(side, rows, start, rows.rows_before(due_to))
            if new is not None:
                self.emit_unmatched(side, new, 0, new.rows_before(due_to))
        live_from = self.after - side.hold
        expired = self.log.expire(side.number, live_from)
        if new is not None:
            keep = np.ones(len(new), np.bool_)
            keep[: new.rows_before(live_from)] = False
            if side.layout.once and new.matched is not None:
                keep &= ~new.matched
            kept = new.only(keep)
            expired += len(new) - len(kept)
            self.log.append(side.number, kept, live_from)
        self.counts[f"{side.name}.expired"] += expired

    def evict(self) -> None:
        for number, rows, numbers in limits.enforce(self.log, self.join.spec.limit):
            side = self.join._sides[number]
            self.counts[f"{side.name}.evicted"] += numbers.size
            if side.preserved and rows.matched is not None:
                waiting = rows.times[numbers] + side.reach >= self.after
                going = numbers[waiting & ~rows.matched[numbers]]
                if going.size:
                    self.emit_alone(side, take(rows.frame, going))

    def emit_unmatched(self, side: _Side, rows: Rows, start: int, stop: int) -> None:
        if start < stop and rows.matched is not None:
            numbers = start + np.flatnonzero(~rows.matched[start:stop])
            if numbers.size:
                self.emit_alone(side, take(rows.frame, numbers))

    def emit_alone(self, side: _Side, frame: pl.DataFrame) -> None:
        self.counts["unmatched"] += frame.height
        self.result.main.append(self.join.alone(side, frame))

    def count_state(self) -> None:
        for number, name in enumerate(SIDES):
            held = sum(segment.held for segment in self.log.manifest.sides[number])
            self.counts[f"{name}.held"] = held
        self.counts["state_rows"] = self.log.held_rows
        self.counts["state_bytes"] = self.log.held_bytes
        self.counts["segments"] = sum(1 for _ in self.log.manifest.segments())
        self.counts["peak_rows"] = max(self.counts["peak_rows"], self.log.held_rows)
