"""The temporal join: each row with the version of its key that was in force at its time.

    rows ──────▶ wait until no version can come that they should meet ──▶ search ──▶ rows out
                                                                            ▲
    versions ──▶ held while they are, or may come to be, in force ──────────┘

Input 0 are rows, input 1 versions. A row that is in time and already due comes out in the step that
it came in. What waits, and until when, is told by direction: see `temporal_join_backward` and
`temporal_join_ahead`.
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
from millstream.kernels.core.specs import TemporalJoinSpec
from millstream.kernels.interval_join.kernel import COUNTS
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Keyed, Tables, judge
from millstream.kernels.temporal_join.backward import Backward
from millstream.kernels.temporal_join.forward import Ahead
from millstream.kernels.temporal_join.output import Out
from millstream.kernels.temporal_join.versions import Versions
from millstream.temporal import LateAction, StateLimit
from millstream.values import Direction, JoinType

__all__ = ["COUNTS", "TemporalJoin", "TemporalJoinSpec"]

_SIDES = ("left", "right")


class TemporalJoin:
    def __init__(
        self,
        spec: TemporalJoinSpec,
        types: Mapping[str, Any],
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns, those of the right side at least: a row
        may come out before a version was seen."""
        self.spec = spec
        self._types = dict(types)
        self._settings = settings
        backward = spec.direction is Direction.BACKWARD
        self._way = Backward(spec) if backward else Ahead(spec, self._types)
        self._keyed = (self._way.keyed, Keyed(spec.right_keys, spec.key_is_hash))
        ends = () if spec.deletes is None else (spec.deletes,)
        self._keys = (spec.left_keys, spec.right_keys)
        self._columns = (
            _kept(*spec.left_columns, *spec.left_keys),
            _kept(*spec.right_columns, *spec.right_keys, *ends),
        )

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], clock: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, self._keyed, COUNTS, self._settings)
        after = max(clock.after, clock.before, tables.watermark)
        frames = [inputs.get(number) for number in (0, 1)]
        frames = [None if frame is None or not frame.height else frame for frame in frames]
        idle = all(frame is None for frame in frames) and not clock.trims
        if idle and not self._time_matters(tables, after):
            return StepResult(counts=dict(tables.counts))

        out = Out(self.spec, self._types, tables.counts)
        keys = () if self.spec.key_is_hash else self.spec.right_keys
        versions = Versions(tables, keys, self.spec.deletes)
        new, came = (self._in_time(number, frames[number], clock.before, out) for number in (0, 1))
        if came is not None:
            versions.arrive(came)
        self._way.release(tables[0], versions, new, after, out)
        self._way.let_go(versions, after)
        self._evict(tables, clock.limit_or(self.spec.limit), out)
        self._count(tables)
        tables.close(after)
        out.result.counts = dict(tables.counts)
        return out.result

    def _time_matters(self, tables: Tables, after: int) -> bool:
        """Is a row due, does a version come into force, or is one of no more use?"""
        if tables[0].earliest < after or tables[1].earliest < self._way.live_from(after):
            return True
        since = tables.watermark
        return since < after and any(
            segment.first <= after and segment.last >= since for segment in tables[1].segments
        )

    def _in_time(
        self, number: int, frame: pl.DataFrame | None, before: int, out: Out
    ) -> pl.DataFrame | None:
        """The rows that may meet a partner; None if there are none."""
        if frame is None:
            return None
        side, counts = _SIDES[number], out.counts
        rows, late, reassigned = judge(frame, before, self.spec.late)
        counts[f"{side}.reassigned"] += reassigned
        if late is not None:
            counts[f"{side}.late"] += late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                out.result.late[number] = late
        rows = rows[:, self._columns[number]]
        names = [name for name in (*self._keys[number], HASH) if rows[name].null_count()]
        if names:
            keyless = pl.any_horizontal(pl.col(names).is_null())
            self._without_key(number, rows.filter(keyless), out)
            rows = rows.filter(~keyless)
        counts[f"{side}.accepted"] += rows.height
        return rows if rows.height else None

    def _without_key(self, number: int, rows: pl.DataFrame, out: Out) -> None:
        if number == 0 and self.spec.how is JoinType.LEFT:
            out.counts["left.accepted"] += rows.height
            out.alone(rows)
        else:
            out.counts[f"{_SIDES[number]}.missing_key"] += rows.height

    def _evict(self, tables: Tables, limit: StateLimit, out: Out) -> None:
        """A row that a limit does not let wait is one that met nothing."""
        for number, rows in tables.evict(limit, "temporal join").items():
            out.counts[f"{_SIDES[number]}.evicted"] += rows.height
            if number == 0:
                out.alone(rows)

    def _count(self, tables: Tables) -> None:
        counts = tables.counts
        for number, side in enumerate(_SIDES):
            counts[f"{side}.in_state"] = tables[number].held
        count_processed(counts, "left")
        counts["right.expired"] += count_processed(counts, "right")
        counts["right.processed"] = 0  # a version stays until the watermark rules it out


def _kept(*names: str) -> list[str]:
    return [*dict.fromkeys(name for name in names if name not in {TIME, HASH}), TIME, HASH]
