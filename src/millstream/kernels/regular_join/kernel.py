"""The regular join: keys equal, predicates true, whenever two rows came. A pair comes out at once.

    rows, +1 or -1 ──▶ set off against each other ──▶ match with what is held ──▶ what changes
                                                         │      ▲
                                                         ▼      │
                                                held until the watermark is `ttl` past their time

What a step gives is the difference between the join before it and after it: rows taken back (-D),
then rows told (+I). What expires stays told: a row that was told with a partner that is gone by
time does not come back alone, and who takes back a row that is not held any more is not heard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.kernel import State, StepResult, WatermarkAdvance
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join import kernel as interval_join
from millstream.kernels.regular_join.buffer import Held
from millstream.kernels.regular_join.classify import Arrived, sort_out
from millstream.kernels.regular_join.matching import RegularMatcher
from millstream.kernels.regular_join.output import Out
from millstream.kernels.regular_join.sides import Side, regular_sides
from millstream.kernels.regular_join.step import Step
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest
from millstream.temporal import BEGIN_OF_TIME, LateAction

__all__ = ["COUNTS", "RegularJoin", "RegularJoinSpec"]

# A side's `ignored` are rows that took back what is not held any more.
COUNTS = (*interval_join.COUNTS, "left.ignored", "right.ignored", "retractions")


class RegularJoin:
    def __init__(
        self,
        spec: RegularJoinSpec,
        types: Mapping[str, Any],
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns: a row may come out before one of the
        other side was seen."""
        self.spec = spec
        self._types = dict(types)
        self._settings = settings or LogSettings()
        self._sides = regular_sides(spec)
        self._matcher = RegularMatcher(spec)

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult:
        manifest = Manifest.load(state.value("meta").get(), len(self._sides))
        counts = manifest.counts = dict.fromkeys(COUNTS, 0) | manifest.counts
        after = max(clock.after, clock.before, manifest.watermark)
        live_from = BEGIN_OF_TIME if self.spec.ttl is None else after - self.spec.ttl
        came = any(frame.height for frame in inputs.values()) or clock.trims
        if not came and all(segment.first >= live_from for segment in manifest.segments()):
            return StepResult(counts=dict(counts))

        result = StepResult()
        left, right = (self._arrivals(side, inputs, clock.before) for side in self._sides)
        for side, arrived in zip(self._sides, (left, right), strict=True):
            self._account(side, arrived, counts, result)
        held = Held(state, manifest, self._sides, self._settings)
        out = Out(self.spec, self._sides, self._types, counts)
        Step(self._matcher, self._sides, held, out).run((left, right), live_from)
        held.evict(clock.limit_or(self.spec.limit))
        held.close(after)
        result.main = out.main
        result.counts = dict(counts)
        return result

    def _arrivals(self, side: Side, inputs: dict[int, pl.DataFrame], before: int) -> Arrived:
        frame = inputs.get(side.number)
        if frame is None or not frame.height:
            return Arrived()
        return sort_out(side, self.spec, frame, before)

    def _account(
        self, side: Side, arrived: Arrived, counts: dict[str, int], result: StepResult
    ) -> None:
        counts[f"{side.name}.accepted"] += arrived.accepted
        counts[f"{side.name}.missing_key"] += arrived.missing_key
        counts[f"{side.name}.unmatched_predicate"] += arrived.unmatched_predicate
        counts[f"{side.name}.reassigned"] += arrived.reassigned
        if arrived.late is not None:
            counts[f"{side.name}.late"] += arrived.late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                result.late[side.number] = arrived.late
