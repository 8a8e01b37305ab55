"""Every row with aggregates over it and the rows before it in its partition.

    arrivals ──▶ wait until the watermark has passed them ──▶ in the order of time, each partition
                                                              after what is kept of it ──▶ rows out
                                                                    ▲           │
                                                                    └───────────┘
                                        its last rows, or one partial result if frames have no end

Rows of one time stand as they arrived. With a `ttl`, a partition that is silent for longer begins
anew, whether or not it was let go by then: the cut into batches does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.kernel import (
    HASH,
    TIME,
    State,
    StepResult,
    WatermarkAdvance,
    count_processed,
)
from millstream.kernels.core.key_index import time_order
from millstream.kernels.core.specs import OverAggregateSpec
from millstream.kernels.over_aggregate.partition_state import LastRows, Running
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Keyed, Table, Tables, hashed, judge
from millstream.kernels.state.sorted_rows import take
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import BEGIN_OF_TIME, LateAction, StateLimit

__all__ = ["COUNTS", "OverAggregate", "OverAggregateSpec"]

_OUTCOMES = (RowOutcome.ACCEPTED, RowOutcome.LATE, RowOutcome.REASSIGNED, *ACCEPTED_OUTCOMES)
COUNTS = (*(f"input.{outcome}" for outcome in _OUTCOMES), "rows_out", "retractions")


class OverAggregate:
    def __init__(
        self,
        spec: OverAggregateSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of the calls' columns."""
        self.spec = spec
        self._settings = settings
        keeper = Running if spec.preceding is None else LastRows
        self._keeper = keeper(spec, dict(types or {}))
        names = dict.fromkeys((*spec.columns, *spec.partition, *self._keeper.read))
        self._wanted = [*(name for name in names if name not in {TIME, HASH}), TIME, HASH]
        self._keyed = (Keyed((), removable=False), Keyed(spec.partition))

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, self._keyed, COUNTS, self._settings)
        waiting, kept, counts = tables[0], tables[1], tables.counts
        after = max(clock.after, clock.before, tables.watermark)
        silent = BEGIN_OF_TIME if self.spec.ttl is None else after - self.spec.ttl
        frame = inputs.get(0)
        if frame is None or not frame.height:
            if waiting.earliest >= after and kept.earliest >= silent and not clock.trims:
                return StepResult(counts=dict(counts))
            frame = None

        result = StepResult()
        stood_for = counts["input.in_state"] - waiting.held
        ready = waiting.due(after)
        if frame is not None:
            rows = self._in_time(frame, clock.before, counts, result)
            due = rows[TIME].to_numpy() < after
            waiting.append(rows.filter(~due), after)
            new = rows.filter(due)
            ready = new if ready is None else ready.vstack(new)
        if ready is not None and ready.height:
            stood_for += self._let_out(kept, ready, counts, result)
        stood_for -= self._let_go(tables, silent, clock.limit_or(self.spec.limit))
        counts["input.in_state"] = waiting.held + stood_for
        count_processed(counts, "input")
        tables.close(after)
        result.counts = dict(counts)
        return result

    def _in_time(
        self, frame: pl.DataFrame, before: int, counts: dict[str, int], result: StepResult
    ) -> pl.DataFrame:
        rows, late, reassigned = judge(hashed(frame), before, self.spec.late)
        counts["input.accepted"] += rows.height
        counts["input.reassigned"] += reassigned
        if late is not None:
            counts["input.late"] += late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                result.late[0] = late
        return rows[:, self._wanted]

    def _let_out(
        self, kept: Table, ready: pl.DataFrame, counts: dict[str, int], result: StepResult
    ) -> int:
        """Gives how many more rows what is kept stands for."""
        order = time_order(ready[TIME].to_numpy())
        ready = ready.rechunk() if order is None else take(ready, order)
        values, more = self._keeper.extend(kept, ready)
        counts["rows_out"] += ready.height
        result.main.append(pl.DataFrame([*(ready[name] for name in self.spec.columns), *values]))
        return more

    def _let_go(self, tables: Tables, silent: int, limit: StateLimit) -> int:
        """Partitions that have been silent for too long, and what a limit does not allow. Gives how
        many rows these partitions stood for."""
        gone = tables[1].due(silent) if self.spec.ttl is not None else None
        count = 0 if gone is None else self._keeper.rows_in(gone)
        evicted = tables.evict(limit, "window over rows")
        waited = evicted[0].height if 0 in evicted else 0
        stood_for = self._keeper.rows_in(evicted[1]) if 1 in evicted else 0
        tables.counts["input.expired"] += count
        tables.counts["input.evicted"] += waited + stood_for
        return count + stood_for
