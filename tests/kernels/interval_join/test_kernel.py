"""The interval join by example."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest
from tests.kernels.interval_join.harness import Harness
from tests.kernels.interval_join.oracle import Join, Row
from tests.kernels.interval_join.test_kernel_properties import spec_of

from millstream.kernels.core.kernel import WatermarkAdvance, nonempty_frames
from millstream.kernels.interval_join.kernel import COUNTS, IntervalJoin, IntervalJoinSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    MICROS,
    LateAction,
    LatePolicy,
    StateLimit,
)
from millstream.values import JoinType


def micros(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


ORDERS = pl.DataFrame(
    {
        "_t": [micros(f"2026-01-15T10:{minute:02}:00+00:00") for minute in (0, 5, 10)],
        "o_id": ["ORD-001", "ORD-002", "ORD-003"],
        "amount": [150.0, 250.0, 350.0],
    }
)
SHIPMENTS = pl.DataFrame(
    {
        "_t": [micros(f"2026-01-15T10:{minute}:00+00:00") for minute in (30, 35, 40)],
        "s_id": ["ORD-001", "ORD-002", "ORD-004"],
        "carrier": ["UPS", "FedEx", "DHL"],
    }
)


PAIRS = {("ORD-001", 150.0, "UPS"), ("ORD-002", 250.0, "FedEx")}


def fill_null_hashes(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    return frame.with_columns(pl.col(key).hash().reinterpret(signed=True).alias("_h"))


def orders_join(how: JoinType) -> IntervalJoinSpec:
    return IntervalJoinSpec(
        how, 0, 24 * MICROS["h"], ("o_id",), ("s_id",), ("o_id", "amount"), ("carrier",)
    )


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (JoinType.INNER, PAIRS),
        (JoinType.LEFT, {*PAIRS, ("ORD-003", 350.0, None)}),
        (JoinType.RIGHT, {*PAIRS, (None, None, "DHL")}),
        (JoinType.FULL, {*PAIRS, ("ORD-003", 350.0, None), (None, None, "DHL")}),
        (JoinType.SEMI, {("ORD-001", 150.0), ("ORD-002", 250.0)}),
        (JoinType.ANTI, {("ORD-003", 350.0)}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("orders_first", [True, False])
def test_orders_joined_to_shipments_within_a_day(
    how: JoinType, expected: set[tuple[object, ...]], orders_first: bool
) -> None:
    join, state = IntervalJoin(orders_join(how)), MemoryState()
    batches = [{0: fill_null_hashes(ORDERS, "o_id")}, {1: fill_null_hashes(SHIPMENTS, "s_id")}]
    out: list[pl.DataFrame] = []
    for inputs in batches if orders_first else batches[::-1]:
        out += nonempty_frames(
            join.step(state, inputs, WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME))
        )
    last = join.step(state, {}, WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME))
    rows = [row for frame in [*out, *nonempty_frames(last)] for row in frame.rows()]
    assert len(rows) == len(expected)
    assert set(rows) == expected
    assert last.counts["matches"] + last.counts["unmatched"] == len(expected)


def harness_of(how: JoinType, lower: int, upper: int, **more: object) -> Harness:
    return Harness(IntervalJoin(spec_of(Join(how, lower, upper), **more)))  # type: ignore[arg-type]


A = ("a", 1)


def test_bounds_are_inclusive_at_both_ends() -> None:
    harness = harness_of(JoinType.INNER, -5, 5)
    rights = [Row(number, t, A) for number, t in enumerate((4, 5, 15, 16))]
    assert harness.feed([Row(0, 10, A)], rights) == {(0, 1): 1, (0, 2): 1}


def test_rows_that_are_alike_all_are_emitted() -> None:
    harness = harness_of(JoinType.INNER, 0, 0)
    assert harness.feed([Row(0, 1, A), Row(0, 1, A)], [Row(0, 1, A)] * 3) == {(0, 0): 6}


def test_an_unmatched_row_waits_until_the_watermark_has_passed_its_last_match() -> None:
    harness = harness_of(JoinType.LEFT, 0, 5)
    assert not harness.feed([Row(0, 10, A)], [Row(0, 10, ("b", 1))])
    assert not harness.feed([Row(1, 15, A)], [Row(1, 15, ("b", 1))])  # a row at 15 may still come
    assert harness.feed([Row(2, 16, A)], [Row(2, 16, ("b", 1))]) == {(0, None): 1}


def test_a_row_whose_match_interval_has_passed_is_emitted_at_once() -> None:
    harness = harness_of(JoinType.LEFT, -9, -8)
    harness.feed([Row(0, 100, A)], [Row(0, 100, A)])
    assert harness.feed([Row(1, 101, A)], [Row(1, 101, A)]) == {(1, None): 1}
    assert harness.last.counts["left.in_state"] == 0


def test_a_keyless_row_is_emitted_at_once_where_it_is_kept_and_is_counted_elsewhere() -> None:
    harness = harness_of(JoinType.LEFT, 0, 5)
    assert harness.feed([Row(0, 1, ("a", None))], [Row(0, 1, (None, 1))]) == {(0, None): 1}
    counts = harness.last.counts
    assert (counts["left.accepted"], counts["left.processed"], counts["left.missing_key"]) == (
        1,
        1,
        0,
    )
    assert (counts["right.accepted"], counts["right.missing_key"]) == (0, 1)


def test_an_idle_side_delays_all_output() -> None:
    harness = harness_of(JoinType.LEFT, 0, 5)
    for t in range(0, 1000, 100):
        assert not harness.feed([Row(t, t, A)], [])
    assert harness.finish() == {(t, None): 1 for t in range(0, 1000, 100)}


def test_a_semi_join_emits_a_row_at_its_first_match_and_then_drops_it() -> None:
    harness = harness_of(JoinType.SEMI, 0, 100)
    assert not harness.feed([Row(0, 0, A), Row(1, 0, ("b", 1))], [])
    assert harness.feed([], [Row(0, 1, A), Row(1, 2, A)]) == {(0,): 1}
    assert harness.last.counts["left.in_state"] == 1
    assert not harness.feed([], [Row(2, 3, A)])


def test_late_rows_are_counted_and_emitted_to_a_side_output() -> None:
    policy = LatePolicy(LateAction.SIDE_OUTPUT)
    harness = harness_of(JoinType.LEFT, 0, 5, late=policy)
    harness.feed([Row(0, 50, A)], [Row(0, 50, A)])
    harness.feed([Row(1, 49, A), Row(2, 50, A)], [])
    assert harness.last.counts["left.late"] == 1
    assert harness.last.late[0].select("l_id", "_t", "_lateness").rows() == [(1, 49, 1)]
    assert list(harness.last.late) == [0]


def test_late_rows_within_the_budget_may_move_to_the_watermark() -> None:
    policy = LatePolicy(LateAction.REASSIGN, budget=10)
    harness = harness_of(JoinType.INNER, 0, 0, late=policy)
    harness.feed([Row(0, 50, A)], [Row(0, 50, A)])
    assert harness.feed([Row(1, 40, A), Row(2, 39, A)], []) == {(1, 0): 1}
    counts = harness.last.counts
    assert (counts["left.reassigned"], counts["left.late"], counts["left.accepted"]) == (1, 1, 2)


def test_retention_keeps_rows_in_state_longer_and_changes_nothing_else() -> None:
    harness = harness_of(JoinType.LEFT, 0, 5)
    longer = Harness(IntervalJoin(spec_of(Join(JoinType.LEFT, 0, 5, retention=100))))
    for t in range(0, 60, 10):
        rows = [Row(t, t, A)], [Row(t, t + 1, ("b", 1))]
        assert harness.feed(*rows) == longer.feed(*rows)
    assert (harness.last.counts["left.in_state"], longer.last.counts["left.in_state"]) == (1, 6)
    assert harness.finish() == longer.finish()


def test_columns_of_a_side_that_was_never_seen_have_the_given_types() -> None:
    frame = fill_null_hashes(ORDERS, "o_id")
    spec = orders_join(JoinType.LEFT)
    end = WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
    (output,) = IntervalJoin(spec, {"carrier": pl.String}).step(MemoryState(), {0: frame}, end).main
    assert output.schema["carrier"] == pl.String
    (untold,) = IntervalJoin(spec).step(MemoryState(), {0: frame}, end).main
    assert untold.schema["carrier"] == pl.Null
    assert untold.columns == ["o_id", "amount", "carrier"]


def test_counts_continue_after_a_restart() -> None:
    spec = orders_join(JoinType.LEFT)
    state, advance = MemoryState(), WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    IntervalJoin(spec).step(state, {0: fill_null_hashes(ORDERS, "o_id")}, advance)
    result = IntervalJoin(spec).step(state, {1: fill_null_hashes(SHIPMENTS, "s_id")}, advance)
    assert set(result.counts) == set(COUNTS)
    assert result.counts["left.accepted"] == result.counts["right.accepted"] == 3
    assert result.counts["matches"] == 2
    assert result.counts["peak_rows"] == 6
    assert result.counts["segments"] == 2


def test_a_spec_has_no_limit_by_default() -> None:
    assert orders_join(JoinType.INNER).limit == StateLimit()


def test_a_hot_key_and_many_rows_equal_a_batch_join() -> None:
    count = 6000
    numbers = pl.Series(range(count))
    left = pl.DataFrame({"_t": numbers * 10, "l_k": numbers % 3, "l_id": numbers})
    right = pl.DataFrame({"_t": numbers * 10 + 3, "r_k": numbers % 3, "r_id": numbers})
    left = left.with_columns(pl.col("l_k").alias("_h"))
    right = right.with_columns(pl.col("r_k").alias("_h"))
    keys = (("l_k",), ("r_k",))
    spec = IntervalJoinSpec(
        JoinType.INNER, -100, 200, *keys, ("l_id",), ("r_id",), key_is_hash=True
    )
    join, state = IntervalJoin(spec), MemoryState()
    out = []
    for start in range(0, count, 2000):
        inputs = {0: left[start : start + 2000], 1: right[start : start + 2000]}
        out += join.step(state, inputs, WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)).main
    gap = pl.col("_t_right") - pl.col("_t")
    expected = (
        left.join(right, left_on="l_k", right_on="r_k")
        .filter(gap.is_between(-100, 200))
        .select("l_id", "r_id")
    )
    assert pl.concat(out).sort("l_id", "r_id").equals(expected.sort("l_id", "r_id"))
