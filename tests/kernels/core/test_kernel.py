"""Properties of kernels that the stateful processor relies on."""

from __future__ import annotations

import pickle

import polars as pl

from millstream.kernels.core.kernel import Kernel, WatermarkAdvance
from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.scalars import Compare
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME
from millstream.values import JoinType

SPEC = IntervalJoinSpec(
    JoinType.LEFT,
    0,
    5,
    ("l_k",),
    ("r_k",),
    ("l_k",),
    ("r_x",),
    pair_predicate=Compare("l_y", "<", "r_x"),
)


def test_a_kernel_can_be_pickled() -> None:
    frame = pl.DataFrame({"_t": [1], "_h": [1], "l_k": ["a"], "l_y": [1]})
    end = WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
    kernel: Kernel = IntervalJoin(SPEC, {"r_x": pl.Float64})
    kernel.step(MemoryState(), {0: frame}, end)
    twin = pickle.loads(pickle.dumps(kernel))
    assert twin.spec == SPEC
    (out,) = twin.step(MemoryState(), {0: frame}, end).main
    assert out.schema == {"l_k": pl.String, "r_x": pl.Float64}


def test_frames_are_not_changed_and_may_hold_more_columns_in_any_order() -> None:
    left = pl.DataFrame({"l_k": ["a"], "other": [0], "_h": [1], "l_y": [1], "_t": [1]})
    right = pl.DataFrame({"r_x": [2], "_t": [1], "r_k": ["a"], "_h": [1]})
    copies = left.clone(), right.clone()
    advance = WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    (out,) = IntervalJoin(SPEC).step(MemoryState(), {0: left, 1: right}, advance).main
    assert out.rows(named=True) == [{"l_k": "a", "r_x": 2}]
    assert left.equals(copies[0])
    assert right.equals(copies[1])


def test_frames_in_chunks_are_as_good_as_whole_ones() -> None:
    part = pl.DataFrame({"_t": [1, 2], "_h": [1, 2], "l_k": ["a", "b"], "l_y": [1, 1]})
    left = pl.concat([part, part], rechunk=False)
    right = pl.DataFrame({"_t": [2], "_h": [1], "r_k": ["a"], "r_x": [2]})
    advance = WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    (out,) = IntervalJoin(SPEC).step(MemoryState(), {0: left, 1: right}, advance).main
    assert out.rows() == [("a", 2), ("a", 2)]
