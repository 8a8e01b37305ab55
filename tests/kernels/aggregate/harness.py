"""A harness for aggregates in tests: frames from rows, fold before the step, trouble on the way."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl
from tests.kernels.aggregate.oracle import Out, Row

from millstream.kernels.aggregate.base import AggregateKernel
from millstream.kernels.aggregate.kernel import pre_aggregate
from millstream.kernels.core.kernel import INSERT, OP, StepResult, WatermarkAdvance
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

KEYS = ("k1", "k2")
SCHEMA: dict[str, Any] = {
    "_t": pl.Int64, "_h": pl.Int64, "k1": pl.String, "k2": pl.Float64, "id": pl.Int64,
    "x": pl.Int64, "y": pl.Float64, "s": pl.String, "b": pl.Boolean, "d": pl.Decimal(10, 2),
    "_ws": pl.Int64, "_we": pl.Int64,
}  # fmt: skip


def type_of(call: CallSpec) -> Any:
    argument = call.argument or "x"
    match call.function:
        case "count" | "count_distinct" | "approx_count_distinct":
            return pl.Int64
        case "sum" if argument == "d":
            return pl.Decimal(20, 2)
        case "avg" if argument == "d":
            return pl.Decimal(14, 6)
        case "avg" | "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop":
            return pl.Float64
        case "collect_list" | "collect_set":
            return pl.List(SCHEMA[argument])
        case _:
            return SCHEMA[argument]


def types_of(spec: AggregateSpec) -> dict[str, Any]:
    return {call.name: type_of(call) for call in spec.calls}


def frame_of(spec: AggregateSpec, rows: Sequence[Row], colliding: bool = False) -> pl.DataFrame:
    def hash_of(row: Row) -> int:
        key = tuple(str(part + 0.0) if isinstance(part, float) else part for part in row.key)
        return 7 if colliding else hash(key)

    def cells(row: Row) -> tuple[object, ...]:
        key = (*row.key, None, None)[:2]
        values = (row.x, row.y, row.s, row.b, row.d)
        return (row.t, hash_of(row), *key, row.id, *values, *row.span)

    data = [cells(row) for row in rows]
    frame = pl.DataFrame(data, schema=SCHEMA, orient="row")
    if spec.over_changes:
        frame = frame.with_columns(pl.Series(OP, [row.op for row in rows], dtype=pl.Int8))
    return frame


@dataclass
class AggregateHarness:
    """Watermark: the greatest time seen less a delay."""

    kernel: AggregateKernel
    delay: int = 0
    colliding: bool = False
    trouble: random.Random | None = None  # decides on retries, lost caches and packets
    state: MemoryState = field(default_factory=MemoryState)
    top: int = BEGIN_OF_TIME
    advance: WatermarkAdvance = field(
        default_factory=lambda: WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    )
    last: StepResult = field(default_factory=StepResult)

    @property
    def spec(self) -> AggregateSpec:
        return self.kernel.spec

    def feed(self, rows: Sequence[Row], end: bool = False) -> list[Out]:
        self.top = max([self.top, *(row.t for row in rows)])
        mark = BEGIN_OF_TIME if self.top == BEGIN_OF_TIME else self.top - self.delay
        self.advance = WatermarkAdvance(
            self.advance.after, END_OF_TIME if end else max(self.advance.after, mark)
        )
        inputs = {}
        if rows or self._sometimes():
            inputs[0] = self._packets(list(rows))
        if self._sometimes():
            self.kernel.step(
                self.state.copy(), inputs, self.advance
            )  # its writes were not retained
        if self._sometimes():
            cache.clear_cache()
        self.last = self.kernel.step(self.state, inputs, self.advance)
        self._check_ledger()
        return [one for frame in self.last.main for one in outs(self.spec, frame)]

    def _packets(self, rows: list[Row]) -> pl.DataFrame:
        """Rows as they come through the shuffle: folded in parts, if they are folded there."""
        if not self.spec.early:
            return frame_of(self.spec, rows, self.colliding)
        cut = self.trouble.randint(0, len(rows)) if self.trouble else len(rows)
        parts = [rows[:cut], rows[cut:]]
        frames = [frame_of(self.spec, part, self.colliding) for part in parts if part or not rows]
        return pl.concat([pre_aggregate(self.spec, frame) for frame in frames])

    def _sometimes(self) -> bool:
        return self.trouble is not None and self.trouble.random() < 0.3

    def _check_ledger(self) -> None:
        counts = self.last.counts
        gone = sum(counts[f"input.{outcome}"] for outcome in ("processed", "expired", "evicted"))
        assert counts["input.accepted"] == counts["input.in_state"] + gone
        assert counts["peak_rows"] >= counts["state_rows"]


def outs(spec: AggregateSpec, frame: pl.DataFrame) -> list[Out]:
    window = ["_window_start", "_window_end", "_window_time"] if spec.windowed else []
    calls = [call.name for call in spec.calls]
    assert frame.columns == [*spec.keys, *window, *calls, *([OP] if spec.retracts else [])]
    found: list[Out] = []
    for row in frame.iter_rows(named=True):
        span = None
        if window:
            span = (row["_window_start"], row["_window_end"])
            assert row["_window_time"] == span[1] - 1
        values = tuple(plain(row[name]) for name in calls)
        key = tuple(plain(row[name]) for name in spec.keys)
        found.append((row.get(OP, INSERT), key, span, values))
    return found


def plain(value: Any) -> Any:
    """Comparable: NaN equals NaN, lists in one order, nine digits of a double. A variance from
    which values were retracted may be off by a last bit of theirs, also where it is nothing."""
    if isinstance(value, list):
        return sorted((plain(one) for one in value), key=str)
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return 0.0 if abs(value) < 1e-12 else float(f"{value:.9g}")
    if isinstance(value, Decimal):
        return value.normalize() + 0
    return value


def plain_out(out: Out) -> Out:
    op, key, span, values = out
    return op, tuple(map(plain, key)), span, tuple(map(plain, values))


def bag(out: Sequence[Out]) -> Counter[str]:
    return Counter(repr(one) for one in out)
