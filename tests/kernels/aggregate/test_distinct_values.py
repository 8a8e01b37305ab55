"""COUNT(DISTINCT) with values in a table of their own."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.aggregate.kernel import create_kernel, pre_aggregate
from millstream.kernels.aggregate.partial_results import distinct_table_arguments
from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    Emit,
    StateLimit,
    Window,
    WindowKind,
)

DAY = Window(WindowKind.TUMBLING, 10, 10)
CALLS = (
    CallSpec("count_distinct", "x", "x"),
    CallSpec("count_distinct", "x_b", "x", filter="b"),
    CallSpec("count_distinct", "x_c", "x", filter="c"),
    CallSpec("count_distinct", "s_c", "s", filter="c"),
    CallSpec("count_distinct", "p", "p"),  # a list: it has no hash
    CallSpec("count_distinct", "xs", "xs", filter="b"),  # a struct
    CallSpec("count", "n"),
)
SPEC = AggregateSpec(("k",), CALLS, DAY, Emit.CHANGES)
Row = tuple[int, int, int | None, str | None, bool, bool | None]  # k, time, x, s, b, c
ROWS = st.tuples(
    st.integers(0, 2),
    st.integers(0, 29),
    st.none() | st.integers(0, 4),
    st.none() | st.sampled_from(["", "a", "ab"]),
    st.booleans(),
    st.none() | st.booleans(),
)


def frame(rows: list[Row]) -> pl.DataFrame:
    kinds = {"k": pl.Int64, "_t": pl.Int64, "x": pl.Int64, "s": pl.String}
    flags = {"b": pl.Boolean, "c": pl.Boolean}
    made = pl.DataFrame(rows, {**kinds, **flags}, orient="row")
    pair = pl.when(pl.col("x").is_not_null()).then(pl.concat_list("x", pl.lit(1)))
    both = pl.struct("x", "s").alias("xs")
    return made.with_columns(pl.col("k").alias("_h"), pair.alias("p"), both)


def expected(rows: list[Row], by: Any) -> dict[Any, tuple[int, ...]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(by(row), []).append(row)
    return {
        group: (
            len({x for _, _, x, *_ in own} - {None}),
            len({x for _, _, x, _, b, _ in own if b} - {None}),
            len({x for _, _, x, _, _, c in own if c} - {None}),
            len({s for _, _, _, s, _, c in own if c} - {None}),
            len({x for _, _, x, *_ in own} - {None}),
            len({(x, s) for _, _, x, s, b, _ in own if b}),
            len(own),
        )
        for group, own in groups.items()
    }


def last(results: list[pl.DataFrame], by: list[str]) -> dict[Any, tuple[int, ...]]:
    """The value valid of each group."""
    found: dict[Any, tuple[int, ...]] = {}
    for made in results:
        for row in made.filter(pl.col("_op").is_in([0, 2])).iter_rows(named=True):
            key = tuple(row[name] for name in by)
            found[key] = tuple(row[call.name] for call in CALLS)
    return found


@given(st.lists(st.lists(ROWS, max_size=8), max_size=6), st.booleans())
def test_values_count_once_for_each_call(batches: list[list[Row]], early: bool) -> None:
    for spec, by, names in (
        (SPEC, lambda row: (row[0], row[1] // 10 * 10), ["k", "_window_start"]),
        (AggregateSpec(("k",), CALLS, emit=Emit.CHANGES), lambda row: (row[0],), ["k"]),
    ):
        kernel, state, results = create_kernel(spec, {}), MemoryState(), []
        for rows in batches:
            given_rows = frame(rows)
            if early and rows:
                given_rows = pl.concat(
                    pre_aggregate(spec, part) for part in (given_rows, given_rows[:0])
                )
            made = kernel.step(
                state, {0: given_rows}, WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
            )
            results += made.main
        rows = [row for batch in batches for row in batch]
        assert last(results, names) == expected(rows, by)


def test_values_go_with_their_window() -> None:
    kernel, state = create_kernel(SPEC, {}), MemoryState()
    rows: list[Row] = [(1, 0, 1, "a", True, True), (1, 1, 2, "b", True, True)]
    stored = kernel.step(state, {0: frame(rows)}, WatermarkAdvance(BEGIN_OF_TIME, 5))
    assert stored.counts["state_rows"] == 1 + 6  # a group, two values of x, of s and of both
    gone = kernel.step(state, {}, WatermarkAdvance(5, END_OF_TIME))
    assert gone.counts["state_rows"] == 0


def test_known_values_are_not_written_again() -> None:
    kernel, state = create_kernel(SPEC, {}), MemoryState()
    rows: list[Row] = [(1, 0, number, "a", False, False) for number in range(50)]  # of x
    advance = WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    for _ in range(5):
        counts = kernel.step(state, {0: frame(rows)}, advance).counts
    assert counts["state_rows"] == 1 + 50


@pytest.mark.parametrize(
    "spec",
    [
        AggregateSpec(("k",), CALLS, Window(WindowKind.SLIDING, 10, 5)),
        AggregateSpec(("k",), CALLS, Window(WindowKind.SESSION, 5)),
        AggregateSpec(("k",), CALLS, emit=Emit.CHANGES, ttl=5),
        AggregateSpec(("k",), CALLS, DAY, over_changes=True),
        AggregateSpec(("k",), CALLS, DAY, limit=StateLimit(max_rows=5)),
        AggregateSpec(
            ("k",), tuple(CallSpec("count_distinct", f"a{n}", "x", f"f{n}") for n in range(63)), DAY
        ),
    ],
)
def test_groups_that_merge_or_may_go_early_keep_lists(spec: AggregateSpec) -> None:
    assert not distinct_table_arguments(spec)
