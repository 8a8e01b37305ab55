"""Aggregates over each row and the rows before it in its partition (OVER).

    new rows ──▶ wait until the watermark has passed them ──▶ in time order, per partition, with
                                                              the partition's state ──▶ output rows
                                                                    ▲           │
                                                                    └───────────┘
                                      its last rows, or one partial result for unbounded frames

Rows with the same time are in order of arrival. With a `ttl`, a partition that is idle for longer
starts anew, whether or not its state has expired by then: results do not depend on how rows are cut
into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.hashing import fill_null_hashes
from millstream.kernels.core.kernel import (
    HASH,
    TIME,
    State,
    StepResult,
    WatermarkAdvance,
    count_processed,
)
from millstream.kernels.core.key_index import time_order
from millstream.kernels.core.late_rows import split_late
from millstream.kernels.core.specs import OverAggregateSpec
from millstream.kernels.over_aggregate.partition_state import LastRowsState, RunningState
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Table, Tables, TableSpec
from millstream.row_outcomes import ACCEPTED_OUTCOMES, RowOutcome
from millstream.temporal import BEGIN_OF_TIME, LateAction, StateLimit

__all__ = ["COUNTS", "OverAggregate", "OverAggregateSpec"]

_OUTCOMES = (RowOutcome.ACCEPTED, RowOutcome.LATE, RowOutcome.REASSIGNED, *ACCEPTED_OUTCOMES)
COUNTS = (*(f"input.{outcome}" for outcome in _OUTCOMES), "rows_out", "retractions")


class OverAggregate:
    """The kernel of OVER aggregates."""

    def __init__(
        self,
        spec: OverAggregateSpec,
        types: Mapping[str, Any] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of the calls' columns."""
        self.spec = spec
        self._settings = settings
        state_type = RunningState if spec.preceding is None else LastRowsState
        self._partition_state = state_type(spec, dict(types or {}))
        names = dict.fromkeys((*spec.columns, *spec.partition, *self._partition_state.read))
        self._wanted = [*(name for name in names if name not in {TIME, HASH}), TIME, HASH]
        self._table_specs = (TableSpec((), removable=False), TableSpec(spec.partition))

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, self._table_specs, COUNTS, self._settings)
        waiting, partitions, counts = tables[0], tables[1], tables.counts
        after = max(advance.after, advance.before, tables.watermark)
        idle_since = BEGIN_OF_TIME if self.spec.ttl is None else after - self.spec.ttl
        frame = inputs.get(0)
        if frame is None or not frame.height:
            if (
                waiting.earliest >= after
                and partitions.earliest >= idle_since
                and not advance.enforces_limit
            ):
                return StepResult(counts=dict(counts))
            frame = None

        result = StepResult()
        represented = counts["input.in_state"] - waiting.row_count
        ready = waiting.take_before(after)
        if frame is not None:
            rows = self._accept(frame, advance.before, counts, result)
            due = rows[TIME].to_numpy() < after
            waiting.append(rows.filter(~due), after)
            new = rows.filter(due)
            ready = new if ready is None else ready.vstack(new)
        if ready is not None and ready.height:
            represented += self._emit(partitions, ready, counts, result)
        represented -= self._expire(tables, idle_since, advance.effective_limit(self.spec.limit))
        counts["input.in_state"] = waiting.row_count + represented
        count_processed(counts, "input")
        tables.close(after)
        result.counts = dict(counts)
        return result

    def _accept(
        self, frame: pl.DataFrame, before: int, counts: dict[str, int], result: StepResult
    ) -> pl.DataFrame:
        rows, late, reassigned = split_late(fill_null_hashes(frame), before, self.spec.late)
        counts["input.accepted"] += rows.height
        counts["input.reassigned"] += reassigned
        if late is not None:
            counts["input.late"] += late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                result.late[0] = late
        return rows[:, self._wanted]

    def _emit(
        self, partitions: Table, ready: pl.DataFrame, counts: dict[str, int], result: StepResult
    ) -> int:
        """Emits rows that are due; returns by how many the number of rows that partition state
        represents grows."""
        order = time_order(ready[TIME].to_numpy())
        ready = ready.rechunk() if order is None else take(ready, order)
        values, more = self._partition_state.extend(partitions, ready)
        counts["rows_out"] += ready.height
        result.main.append(pl.DataFrame([*(ready[name] for name in self.spec.columns), *values]))
        return more

    def _expire(self, tables: Tables, idle_since: int, limit: StateLimit) -> int:
        """Expires idle partitions and applies the limit; returns how many rows the removed state
        represented."""
        expired = tables[1].take_before(idle_since) if self.spec.ttl is not None else None
        count = 0 if expired is None else self._partition_state.rows_in(expired)
        evicted = tables.evict(limit, "window over rows")
        evicted_rows = evicted[0].height if 0 in evicted else 0
        represented = self._partition_state.rows_in(evicted[1]) if 1 in evicted else 0
        tables.counts["input.expired"] += count
        tables.counts["input.evicted"] += evicted_rows + represented
        return count + represented
