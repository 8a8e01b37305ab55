"""The temporal join: each row with the version of its key that is valid at its time.

    rows ──────▶ wait until no matching version can arrive ──▶ search ──▶ output
                                                                 ▲
    versions ──▶ retained while they are or may become valid ────┘

Input 0 has rows, input 1 versions. A row that is due when it arrives is emitted in the same step.
What waits, and until when, depends on the direction: see `backward` and `forward`.
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
from millstream.kernels.core.late_rows import split_late
from millstream.kernels.core.specs import TemporalJoinSpec
from millstream.kernels.interval_join.kernel import COUNTS
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Tables, TableSpec
from millstream.kernels.temporal_join.backward import Backward
from millstream.kernels.temporal_join.forward import Forward
from millstream.kernels.temporal_join.output import Output
from millstream.kernels.temporal_join.versions import Versions
from millstream.temporal import LateAction, StateLimit
from millstream.values import Direction, JoinType

__all__ = ["COUNTS", "TemporalJoin", "TemporalJoinSpec"]

_SIDES = ("left", "right")


class TemporalJoin:
    """The kernel of temporal joins."""

    def __init__(
        self,
        spec: TemporalJoinSpec,
        types: Mapping[str, Any],
        settings: LogSettings | None = None,
    ) -> None:
        """`types` are the Polars types of output columns, at least of the right side: a row may be
        emitted before there are versions."""
        self.spec = spec
        self._types = dict(types)
        self._settings = settings
        backward = spec.direction is Direction.BACKWARD
        self._strategy = Backward(spec) if backward else Forward(spec, self._types)
        self._table_specs = (
            self._strategy.table_spec,
            TableSpec(spec.right_keys, spec.key_is_hash),
        )
        ends = () if spec.deletes is None else (spec.deletes,)
        self._keys = (spec.left_keys, spec.right_keys)
        self._columns = (
            _columns_to_store(*spec.left_columns, *spec.left_keys),
            _columns_to_store(*spec.right_columns, *spec.right_keys, *ends),
        )

    def step(
        self, state: State, inputs: dict[int, pl.DataFrame], advance: WatermarkAdvance
    ) -> StepResult:
        tables = Tables(state, self._table_specs, COUNTS, self._settings)
        after = max(advance.after, advance.before, tables.watermark)
        frames = [inputs.get(number) for number in (0, 1)]
        frames = [None if frame is None or not frame.height else frame for frame in frames]
        idle = all(frame is None for frame in frames) and not advance.enforces_limit
        if idle and not self._has_time_work(tables, after):
            return StepResult(counts=dict(tables.counts))

        out = Output(self.spec, self._types, tables.counts)
        keys = () if self.spec.key_is_hash else self.spec.right_keys
        versions = Versions(tables, keys, self.spec.deletes)
        new, new_versions = (
            self._accept(number, frames[number], advance.before, out) for number in (0, 1)
        )
        if new_versions is not None:
            versions.add(new_versions)
        self._strategy.emit_due(tables[0], versions, new, after, out)
        self._strategy.expire_versions(versions, after)
        self._evict(tables, advance.effective_limit(self.spec.limit), out)
        self._count(tables)
        tables.close(after)
        out.result.counts = dict(tables.counts)
        return out.result

    def _has_time_work(self, tables: Tables, after: int) -> bool:
        """Returns whether the watermark by itself causes output or expiry: a row is due, or a
        version becomes valid or expires."""
        if tables[0].earliest < after or tables[1].earliest < self._strategy.live_from(after):
            return True
        since = tables.watermark
        return since < after and any(
            segment.first <= after and segment.last >= since for segment in tables[1].segments
        )

    def _accept(
        self, number: int, frame: pl.DataFrame | None, before: int, out: Output
    ) -> pl.DataFrame | None:
        """Returns the rows that may match, in time and with a key; None if there are none."""
        if frame is None:
            return None
        side, counts = _SIDES[number], out.counts
        rows, late, reassigned = split_late(frame, before, self.spec.late)
        counts[f"{side}.reassigned"] += reassigned
        if late is not None:
            counts[f"{side}.late"] += late.height
            if self.spec.late.action is LateAction.SIDE_OUTPUT:
                out.result.late[number] = late
        rows = rows[:, self._columns[number]]
        names = [name for name in (*self._keys[number], HASH) if rows[name].null_count()]
        if names:
            keyless = pl.any_horizontal(pl.col(names).is_null())
            self._handle_missing_keys(number, rows.filter(keyless), out)
            rows = rows.filter(~keyless)
        counts[f"{side}.accepted"] += rows.height
        return rows if rows.height else None

    def _handle_missing_keys(self, number: int, rows: pl.DataFrame, out: Output) -> None:
        if number == 0 and self.spec.how is JoinType.LEFT:
            out.counts["left.accepted"] += rows.height
            out.unmatched(rows)
        else:
            out.counts[f"{_SIDES[number]}.missing_key"] += rows.height

    def _evict(self, tables: Tables, limit: StateLimit, out: Output) -> None:
        """Applies the limit. Evicted rows are emitted as unmatched."""
        for number, rows in tables.evict(limit, "temporal join").items():
            out.counts[f"{_SIDES[number]}.evicted"] += rows.height
            if number == 0:
                out.unmatched(rows)

    def _count(self, tables: Tables) -> None:
        counts = tables.counts
        for number, side in enumerate(_SIDES):
            counts[f"{side}.in_state"] = tables[number].row_count
        count_processed(counts, "left")
        counts["right.expired"] += count_processed(counts, "right")
        counts["right.processed"] = 0  # a version stays in state until it expires


def _columns_to_store(*names: str) -> list[str]:
    return [*dict.fromkeys(name for name in names if name not in {TIME, HASH}), TIME, HASH]
