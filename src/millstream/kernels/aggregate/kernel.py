"""What the kernels of aggregates share: a step's way from rows to results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.aggregate.classify import Arrived
from millstream.kernels.aggregate.distinct_values import VALUES, Seen
from millstream.kernels.aggregate.partial_results import (
    accumulators,
    distinct_table_arguments,
    group_columns,
)
from millstream.kernels.aggregate.step import COUNTS, Step, Times
from millstream.kernels.core.kernel import State, StepResult, WatermarkAdvance
from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.core.windows import reach_of, some_window_ends
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Keyed, Tables
from millstream.temporal import BEGIN_OF_TIME, Emit


class AggregateKernel:
    """`types` are the Polars types of the columns that calls give."""

    def __init__(
        self,
        spec: AggregateSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        self.spec = spec
        self.types = dict(types or {})
        self.folding = accumulators(spec)
        self.reach = reach_of(spec)
        self._tallied = distinct_table_arguments(spec)
        self._keyed = (Keyed(group_columns(spec)), *([VALUES] if self._tallied else []))
        self._settings = settings or LogSettings()

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, self._keyed, COUNTS, self._settings)
        after = max(clock.after, clock.before, tables.watermark)
        frame = inputs.get(0)
        arrived = None
        if frame is not None and frame.height:
            arrived = self._sort_out(frame, clock.before, tables)
        elif not clock.trims and not self._time_matters(tables, after):
            return StepResult(counts=dict(tables.counts))
        times = Times(clock.before, after, tables.watermark, self.live_from(after))
        run = self._steps(self.spec, self.folding, self.types, tables, times)
        if self._tallied:
            run.seen = Seen(tables, self._tallied, windowed=self.spec.windowed)
        if arrived is not None:
            run.account(arrived)
        run.update(arrived.partials if arrived is not None else None)
        return run.close(clock.limit_or(self.spec.limit))

    @property
    def _steps(self) -> type[Step]:
        return Step

    def _sort_out(self, frame: pl.DataFrame, before: int, tables: Tables) -> Arrived:
        raise NotImplementedError

    def live_from(self, after: int) -> int:
        """Groups older than it are let go."""
        if self.spec.window is None:
            return BEGIN_OF_TIME if self.spec.ttl is None else after - self.spec.ttl
        return after - self.spec.lateness - self.reach

    def _time_matters(self, tables: Tables, after: int) -> bool:
        """Is anything due, or of no more use?"""
        groups, window = tables[0], self.spec.window
        if groups.earliest < self.live_from(after):
            return True
        if window is None or self.spec.emit is Emit.CHANGES or groups.earliest >= after:
            return False
        return some_window_ends(window, tables.watermark, after)
