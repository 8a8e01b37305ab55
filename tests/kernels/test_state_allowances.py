"""A key group that receives an allowance evicts rows over it, also in a step without rows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from millstream.kernels.aggregate.kernel import create_kernel
from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.core.specs import (
    AggregateSpec,
    CallSpec,
    DeduplicateSpec,
    OrderSpec,
    OverAggregateSpec,
    RegularJoinSpec,
    SessionJoinSpec,
    TemporalJoinSpec,
    TopNSpec,
)
from millstream.kernels.deduplicate import Deduplicate
from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.over_aggregate.kernel import OverAggregate
from millstream.kernels.regular_join.kernel import RegularJoin
from millstream.kernels.session_join.kernel import SessionJoin
from millstream.kernels.state.memory_state import MemoryState
from millstream.kernels.temporal_join.kernel import TemporalJoin
from millstream.kernels.top_n.kernel import TopN
from millstream.temporal import BEGIN_OF_TIME, OnLimit, StateLimit, Window, WindowKind
from millstream.values import JoinType

EVICT = OnLimit.EVICT
WHOLE = StateLimit(max_rows=100, on_limit=EVICT)
COLUMNS = (("lk",), ("rk",), ("lk", "lv"), ("rk", "rv"))
TYPES: dict[str, Any] = {"lk": pl.Int64(), "lv": pl.Int64(), "rk": pl.Int64(), "rv": pl.Int64()}
TYPES |= {"n": pl.Int64(), "_window_start": pl.Int64(), "_window_end": pl.Int64()}
TYPES |= {"_window_time": pl.Int64()}
COUNT = (CallSpec("count", "n"),)
WINDOW = Window(WindowKind.TUMBLING, 1000, 1000)
SESSIONS = Window(WindowKind.SESSION, 1)
KERNELS: dict[str, Any] = {
    "distinct": Deduplicate(DeduplicateSpec(("lk",), ("lk",), None, limit=WHOLE), TYPES),
    "aggregate": create_kernel(AggregateSpec(("lk",), COUNT, WINDOW, limit=WHOLE), TYPES),
    "sessions": create_kernel(AggregateSpec(("lk",), COUNT, SESSIONS, limit=WHOLE), TYPES),
    "top-n": TopN(TopNSpec(("lk",), (OrderSpec("lv"),), ("lk", "lv"), 3, limit=WHOLE), TYPES),
    "rows over": OverAggregate(
        OverAggregateSpec(("lk",), ("lk", "lv"), 5, COUNT, limit=WHOLE), TYPES
    ),
    "interval join": IntervalJoin(IntervalJoinSpec(JoinType.LEFT, 0, 90, *COLUMNS, limit=WHOLE)),
    "temporal join": TemporalJoin(TemporalJoinSpec(JoinType.LEFT, *COLUMNS, limit=WHOLE), TYPES),
    "session join": SessionJoin(SessionJoinSpec(JoinType.LEFT, 5, *COLUMNS, limit=WHOLE), TYPES),
    "regular join": RegularJoin(RegularJoinSpec(JoinType.INNER, *COLUMNS, limit=WHOLE), TYPES),
}


def rows(letter: str, count: int) -> pl.DataFrame:
    numbers = list(range(count))
    columns = {"_t": numbers, "_h": numbers, f"{letter}k": numbers, f"{letter}v": numbers}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))


@pytest.mark.parametrize("name", KERNELS)
def test_a_step_with_an_allowance_and_no_rows_evicts_what_is_over_it(name: str) -> None:
    kernel, state = KERNELS[name], MemoryState()
    inputs = {0: rows("l", 8)}
    if name.endswith("join"):
        inputs[1] = rows("r", 4)
    start = WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    before = kernel.step(state, inputs, start).counts
    assert before["state_rows"] > 3
    retried = state.copy()
    allowed = WatermarkAdvance(
        BEGIN_OF_TIME, BEGIN_OF_TIME, StateLimit(max_rows=3, on_limit=EVICT), enforces_limit=True
    )
    after = kernel.step(state, {}, allowed).counts
    assert after["state_rows"] <= 3
    evicted = sum(count for what, count in after.items() if what.endswith("evicted"))
    assert evicted > 0
    assert kernel.step(retried, {}, allowed).counts == after
    again = kernel.step(state, {}, start).counts
    assert again["state_rows"] == after["state_rows"], "an allowance is for one step"
