"""The first n rows by example."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.kernels.single_input import Harness, Row

from millstream.errors import StateError
from millstream.kernels.core.kernel import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    WatermarkAdvance,
)
from millstream.kernels.core.specs import OrderSpec, TopNSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.kernels.top_n.kernel import TopN
from millstream.temporal import BEGIN_OF_TIME, Emit, LateAction, LatePolicy, OnLimit, StateLimit


def top(n: int = 2, rank: str | None = None, **more: Any) -> TopN:
    order = (OrderSpec("x", descending=True, nulls_first=False),)
    return TopN(TopNSpec(("k1",), order, ("id",), n, rank, **more), {"place": pl.Int32})


def row(id_: int, x: int | None, key: str = "a", t: int = 0, **more: int) -> Row:
    return Row(id_, t, (key, None), x, **more)


def out(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in rows]


def test_rows_that_leave_and_rows_that_come_in() -> None:
    harness = Harness(top())
    assert out(harness.feed([row(0, 5), row(1, 7), row(2, 6)])) == [(1, INSERT), (2, INSERT)]
    assert out(harness.feed([row(3, 5), row(4, None)])) == []
    assert out(harness.feed([row(5, 9)])) == [(2, DELETE), (5, INSERT)]
    assert harness.last.counts["input.in_state"] == 2
    assert (harness.last.counts["rows_out"], harness.last.counts["retractions"]) == (4, 1)


def test_with_ranks_every_place_that_changes_is_a_pair() -> None:
    harness = Harness(top(3, "place"))
    assert out(harness.feed([row(0, 5), row(1, 7)])) == [(1, 1, INSERT), (0, 2, INSERT)]
    assert out(harness.feed([row(2, 6)])) == [
        (0, 2, UPDATE_BEFORE),
        (2, 2, UPDATE_AFTER),
        (0, 3, INSERT),
    ]
    assert harness.last.main[0].schema == {"id": pl.Int64, "place": pl.Int32, "_op": pl.Int8}


def test_equal_rows_stand_as_they_arrived_and_in_a_batch_by_their_columns() -> None:
    harness = Harness(top(1))
    assert out(harness.feed([row(3, 5), row(2, 5)])) == [(2, INSERT)]
    assert out(harness.feed([row(1, 5)])) == []


def test_the_place_of_a_row_retracted_is_filled_by_one_that_waited() -> None:
    harness = Harness(top(1, over_changes=True), more=("_op",))
    assert out(harness.feed([row(0, 5), row(1, 7)])) == [(1, INSERT)]
    assert out(harness.feed([row(1, 7, op=DELETE)])) == [(1, DELETE), (0, INSERT)]
    changed = [row(0, 5, op=UPDATE_BEFORE), row(0, 4, op=UPDATE_AFTER)]
    assert out(harness.feed(changed)) == [(0, DELETE), (0, INSERT)]
    assert out(harness.feed([row(0, 4, op=DELETE), row(9, 1, op=DELETE)])) == [(0, DELETE)]
    assert harness.last.counts["state_rows"] == 0


def test_final_rows_are_emitted_when_due_and_later_ones_are_late() -> None:
    late = LatePolicy(LateAction.SIDE_OUTPUT)
    harness = Harness(top(1, "place", due="due", emit=Emit.FINAL, late=late), more=("due",))
    assert harness.feed([row(0, 5, t=1, due=10), row(1, 7, t=2, due=10)]) == []
    assert harness.feed([row(2, 8, t=9, due=10)]) == []
    assert out(harness.feed([row(3, 1, "b", t=10, due=20)])) == [(2, 1)]
    assert harness.feed([row(4, 9, t=9, due=10), row(5, 0, "b", t=9, due=20)]) == []
    assert harness.last.late[0].select("id", "_lateness").rows() == [(4, 1)]
    assert out(harness.finish()) == [(3, 1)]
    assert harness.last.counts["state_rows"] == 0


def test_an_idle_partition_expires_and_starts_again() -> None:
    harness = Harness(top(1, ttl=10))
    harness.feed([row(0, 5, t=0), row(1, 5, "b", t=5)])
    harness.feed([row(2, 1, t=8)])  # not among the first, but a sign of life
    harness.feed([row(3, 5, "c", t=16)])
    assert harness.last.counts["input.in_state"] == 2
    assert out(harness.feed([row(4, 1, "b", t=17), row(5, 1, t=18)])) == [(4, INSERT)]


def test_a_step_with_nothing_to_do_reads_only_the_manifest() -> None:
    for more in ({}, {"ttl": 10}, {"due": "due", "emit": Emit.FINAL}):
        harness = Harness(top(1, **more), more=("due",))
        harness.feed([row(0, 5, t=0, due=100)])
        harness.state.calls.clear()
        harness.feed([])
        assert harness.state.calls == {"get": 1}


def test_a_limit_stops_the_job_or_evicts_the_oldest_rows() -> None:
    rows = [row(i, i, str(i), t=i) for i in range(5)]
    with pytest.raises(StateError, match="one key group of the top-n has 5 rows; its limit is 3"):
        Harness(top(limit=StateLimit(3))).feed(rows)
    for ttl in (None, 100):
        harness = Harness(top(ttl=ttl, limit=StateLimit(4, on_limit=OnLimit.EVICT)))
        harness.feed(rows)
        counts = harness.last.counts
        assert counts["state_rows"] <= 4
        assert counts["input.evicted"] > 0
        assert counts["input.in_state"] + counts["input.evicted"] == 5


def test_rows_without_a_partition_are_of_one() -> None:
    spec = TopNSpec((), (OrderSpec("x"),), ("x",), 2, "place", emit=Emit.CHANGES)
    frame = pl.DataFrame({"x": [3, 1, 2], "_t": [0, 0, 0], "_h": [0, 0, 0]})
    result = TopN(spec).step(
        MemoryState(), {0: frame}, WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    )
    assert result.main[0].rows() == [(1, 1, INSERT), (2, 2, INSERT)]
