"""The steps common to all aggregate kernels, from input rows to results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.aggregate.classify import ClassifiedRows
from millstream.kernels.aggregate.distinct_values import VALUES, DistinctValues
from millstream.kernels.aggregate.partial_results import (
    accumulators,
    distinct_table_arguments,
    group_columns,
)
from millstream.kernels.aggregate.step import COUNTS, Step, Times
from millstream.kernels.core.kernel import State, StepResult, WatermarkAdvance
from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.core.windows import any_window_ends, window_reach
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Tables, TableSpec
from millstream.temporal import BEGIN_OF_TIME, Emit


class AggregateKernel:
    """The base of aggregate kernels. `types` are the Polars types of the calls' columns."""

    def __init__(
        self,
        spec: AggregateSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        self.spec = spec
        self.types = dict(types or {})
        self.folding = accumulators(spec)
        self.reach = window_reach(spec)
        self._tallied = distinct_table_arguments(spec)
        self._table_specs = (TableSpec(group_columns(spec)), *([VALUES] if self._tallied else []))
        self._settings = settings or LogSettings()

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, self._table_specs, COUNTS, self._settings)
        after = max(advance.after, advance.before, tables.watermark)
        frame = inputs.get(0)
        classified = None
        if frame is not None and frame.height:
            classified = self._classify(frame, advance.before, tables)
        elif not advance.enforces_limit and not self._has_time_work(tables, after):
            return StepResult(counts=dict(tables.counts))
        times = Times(advance.before, after, tables.watermark, self.live_from(after))
        run = self._steps(self.spec, self.folding, self.types, tables, times)
        if self._tallied:
            run.distinct_values = DistinctValues(tables, self._tallied, windowed=self.spec.windowed)
        if classified is not None:
            run.count_input(classified)
        run.update(classified.partials if classified is not None else None)
        return run.close(advance.effective_limit(self.spec.limit))

    @property
    def _steps(self) -> type[Step]:
        return Step

    def _classify(self, frame: pl.DataFrame, before: int, tables: Tables) -> ClassifiedRows:
        raise NotImplementedError

    def live_from(self, after: int) -> int:
        """Returns the time before which groups leave state."""
        if self.spec.window is None:
            return BEGIN_OF_TIME if self.spec.ttl is None else after - self.spec.ttl
        return after - self.spec.lateness - self.reach

    def _has_time_work(self, tables: Tables, after: int) -> bool:
        """Returns whether the watermark by itself causes output or expiry."""
        groups, window = tables[0], self.spec.window
        if groups.earliest < self.live_from(after):
            return True
        if window is None or self.spec.emit is Emit.CHANGES or groups.earliest >= after:
            return False
        return any_window_ends(window, tables.watermark, after)
