"""Aggregates over the last rows by example."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from tests.kernels.single_input import Harness, Row

from millstream.errors import RunError, StateError
from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.core.specs import CallSpec, OverAggregateSpec
from millstream.kernels.over_aggregate.kernel import OverAggregate
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, LateAction, LatePolicy, StateLimit

SUM = CallSpec("sum", "s", "x")
END = WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)


def over(preceding: int | None, *calls: CallSpec, **more: Any) -> OverAggregate:
    spec = OverAggregateSpec(("k1",), ("id",), preceding, calls or (SUM,), **more)
    return OverAggregate(spec, {"s": pl.Int64})


def row(id_: int, t: int, x: int | None, key: str = "a") -> Row:
    return Row(id_, t, (key, None), x)


def out(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in rows]


def test_a_row_is_emitted_once_the_watermark_has_passed_it() -> None:
    harness = Harness(over(1))
    assert out(harness.feed([row(0, 5, 1), row(1, 3, 2), row(2, 4, 4)])) == [(1, 2), (2, 6)]
    assert out(harness.feed([row(3, 5, 8), row(4, 6, 16)])) == [(0, 5), (3, 9)]
    assert out(harness.finish()) == [(4, 24)]


def test_a_late_row_is_in_no_frame() -> None:
    harness = Harness(over(5, late=LatePolicy(LateAction.SIDE_OUTPUT)))
    harness.feed([row(0, 5, 1)])
    harness.feed([row(1, 4, 2), row(2, 9, 4)])
    assert harness.last.late[0].select("id", "_lateness").rows() == [(1, 1)]
    assert out(harness.finish()) == [(2, 5)]


def test_running_totals_go_on_from_batch_to_batch() -> None:
    harness = Harness(over(None, SUM, CallSpec("count", "n")))
    assert harness.feed([row(0, 1, 1), row(1, 1, 2, "b")]) == []
    assert out(harness.feed([row(2, 2, None), row(3, 3, 5)])) == [(0, 1, 1), (1, 2, 1), (2, 1, 2)]
    assert out(harness.finish()) == [(3, 6, 3)]
    assert harness.last.counts["state_rows"] == 2
    assert harness.last.counts["input.in_state"] == 4


def test_an_idle_partition_starts_again() -> None:
    for preceding in (9, None):
        harness = Harness(over(preceding, ttl=10))
        rows = [row(0, 0, 1), row(1, 10, 2), row(2, 21, 4), row(3, 22, 8)]
        whole = Harness(over(preceding, ttl=10)).feed([*rows, row(4, 99, 0, "b")])
        assert out(whole) == [(0, 1), (1, 3), (2, 4), (3, 12)]
        parts = [one for item in rows for one in harness.feed([item])]
        assert out(parts + harness.finish()) == out(whole)
        assert harness.last.counts["state_rows"] == 0


def test_values_have_the_types_asked_for() -> None:
    frame = pl.DataFrame(
        {"id": [1, 2], "_t": [1, 2], "_h": [0, 0], "x": [Decimal("1.10"), Decimal("2.25")]}
    )
    calls = (CallSpec("sum", "s", "x"), CallSpec("avg", "a", "x"), CallSpec("count", "n", "x"))
    types = {"s": pl.Decimal(20, 2), "a": pl.Decimal(14, 6), "n": pl.Int64}
    spec = OverAggregateSpec((), ("id",), 3, calls)
    (made,) = OverAggregate(spec, types).step(MemoryState(), {0: frame}, END).main
    assert made.schema == {"id": pl.Int64, **types}
    assert made.rows()[1] == (2, Decimal("3.35"), Decimal("1.675000"), 2)


@pytest.mark.parametrize("preceding", [2, None])
def test_a_sum_that_does_not_fit_is_an_error(preceding: int | None) -> None:
    harness = Harness(over(preceding))
    harness.feed([row(0, 1, 2**62), row(1, 2, 2**62 - 1)])
    harness.feed([row(2, 3, 2**62)])
    with pytest.raises(RunError, match="MS-RUN-OVERFLOW: the sum of x is too large"):
        harness.finish()


def test_a_frame_holds_no_more_rows_than_it_reaches_back() -> None:
    harness = Harness(over(3))
    for number in range(200):
        harness.feed([row(number, number, 1)])
    assert harness.last.counts["input.in_state"] == 1 + 3
    assert harness.last.counts["segments"] <= 2
    assert harness.last.counts["input.processed"] == 200 - 4


def test_a_step_with_nothing_to_do_reads_only_the_manifest() -> None:
    for preceding in (3, None):
        harness = Harness(over(preceding, ttl=100))
        harness.feed([row(0, 1, 1), row(1, 5, 1)])
        harness.state.calls.clear()
        harness.feed([])
        assert harness.state.calls == {"get": 1}


def test_a_limit_stops_the_job() -> None:
    with pytest.raises(StateError, match="one key group of the window over rows has 3 rows"):
        Harness(over(1, limit=StateLimit(2))).feed([row(i, 9, 1) for i in range(3)])


def test_a_long_partition_is_as_right_as_a_short_one() -> None:
    count = 5000
    numbers = pl.int_range(0, count, eager=True)
    frame = pl.DataFrame({"id": numbers, "_t": numbers, "x": numbers, "k1": "a"}).with_columns(
        _h=pl.lit(1, pl.Int64)
    )
    (made,) = over(99).step(MemoryState(), {0: frame}, END).main
    assert made["s"].to_list() == [sum(range(max(0, n - 99), n + 1)) for n in range(count)]
    (made,) = over(None).step(MemoryState(), {0: frame}, END).main
    assert made["s"].to_list() == numbers.cum_sum().to_list()


def test_a_running_count_of_distinct_values_keeps_one_set_a_partition() -> None:
    count = 20_000
    numbers = pl.int_range(0, count, eager=True)
    frame = pl.DataFrame({"id": numbers, "_t": numbers, "x": numbers // 2, "k1": "a"}).with_columns(
        _h=pl.lit(1, pl.Int64)
    )
    (made,) = (
        over(None, CallSpec("count_distinct", "s", "x")).step(MemoryState(), {0: frame}, END).main
    )
    assert made["s"].to_list() == (numbers // 2 + 1).to_list()
