"""The regular join: equal keys and a true predicate, at any time. A pair is emitted as soon as it
matches.

    insertions, retractions ──▶ cancel out ──▶ match with buffered rows ──▶ changes of the result
                                                    │      ▲
                                                    ▼      │
                                     buffered until the watermark is `ttl` past their time

The output of a step is the difference between the join before and after it: retractions (-D), then
insertions (+I). Expiry retracts nothing: a row that was emitted with a match which has expired is
not emitted again as unmatched, and retractions of expired rows are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.kernel import State, StepResult, WatermarkAdvance
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join import kernel as interval_join
from millstream.kernels.regular_join.buffer import Buffer
from millstream.kernels.regular_join.classify import ClassifiedRows, classify
from millstream.kernels.regular_join.matching import RegularMatcher
from millstream.kernels.regular_join.output import Output
from millstream.kernels.regular_join.sides import Side, regular_sides
from millstream.kernels.regular_join.step import Step
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest
from millstream.temporal import BEGIN_OF_TIME, LateAction

__all__ = ["COUNTS", "RegularJoin", "RegularJoinSpec"]

# A side's `ignored` are retractions of rows that are not in state any more.
COUNTS = (*interval_join.COUNTS, "left.ignored", "right.ignored", "retractions")


class RegularJoin:
    """The kernel of regular joins."""

    def __init__(
        self,
        spec: RegularJoinSpec,
        types: Mapping[str, Any],
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns: a row may be emitted before the other
        side has rows."""
        self.spec = spec
        self._types = dict(types)
        self._settings = settings or LogSettings()
        self._sides = regular_sides(spec)
        self._matcher = RegularMatcher(spec)

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        manifest = Manifest.load(state.value("meta").get(), len(self._sides))
        counts = manifest.counts = dict.fromkeys(COUNTS, 0) | manifest.counts
        after = max(advance.after, advance.before, manifest.watermark)
        live_from = BEGIN_OF_TIME if self.spec.ttl is None else after - self.spec.ttl
        has_input = any(frame.height for frame in inputs.values()) or advance.enforces_limit
        if not has_input and all(segment.first >= live_from for segment in manifest.segments()):
            return StepResult(counts=dict(counts))

        result = StepResult()
        left, right = (self._classify(side, inputs, advance.before) for side in self._sides)
        for side, classified in zip(self._sides, (left, right), strict=True):
            self._count_input(side, classified, counts, result)
        stored = Buffer(state, manifest, self._sides, self._settings)
        out = Output(self.spec, self._sides, self._types, counts)
        Step(self._matcher, self._sides, stored, out).run((left, right), live_from)
        stored.evict(advance.effective_limit(self.spec.limit))
        stored.close(after)
        result.main = out.main
        result.counts = dict(counts)
        return result

    def _classify(self, side: Side, inputs: dict[int, pl.DataFrame], before: int) -> ClassifiedRows:
        frame = inputs.get(side.number)
        if frame is None or not frame.height:
            return ClassifiedRows()
        return classify(side, self.spec, frame, before)

    def _count_input(
        self, side: Side, classified: ClassifiedRows, counts: dict[str, int], result: StepResult
    ) -> None:
        counts[f"{side.name}.accepted"] += classified.accepted
        counts[f"{side.name}.missing_key"] += classified.missing_key
        counts[f"{side.name}.failed_predicate"] += classified.failed_predicate
        counts[f"{side.name}.reassigned"] += classified.reassigned
        if classified.late is not None:
            counts[f"{side.name}.late"] += classified.late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                result.late[side.number] = classified.late
