from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from tests.kernels.aggregate.harness import AggregateHarness, frame_of, types_of
from tests.kernels.aggregate.oracle import Row

from millstream.errors import StateError
from millstream.kernels.aggregate.kernel import (
    Aggregate,
    SessionAggregate,
    create_kernel,
    pre_aggregate,
)
from millstream.kernels.core.kernel import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    WatermarkAdvance,
)
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import (
    Emit,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
    Window,
    WindowKind,
)

TEN = Window(WindowKind.TUMBLING, 10, 10)
COUNT_AND_SUM = (CallSpec("count", "a0"), CallSpec("sum", "a1", "x"))
FINAL = AggregateSpec(("k1",), COUNT_AND_SUM, TEN)
CHANGES = replace(FINAL, emit=Emit.CHANGES)


def harness(spec: AggregateSpec, delay: int = 0) -> AggregateHarness:
    return AggregateHarness(create_kernel(spec, types_of(spec)), delay)


def row(t: int, x: int | None = 1, key: str | None = "a", op: int = INSERT) -> Row:
    return Row(0, t, (key,), x=x, op=op)


def test_a_window_is_emitted_once_when_the_watermark_reaches_its_end() -> None:
    run = harness(FINAL)
    assert run.feed([row(1), row(9, 5)]) == []
    assert run.feed([row(10)]) == [(INSERT, ("a",), (0, 10), (2, 6))]
    assert run.feed([row(11)]) == []
    assert run.feed([], end=True) == [(INSERT, ("a",), (10, 20), (2, 2))]


def test_without_lateness_final_results_have_no_op() -> None:
    run = harness(FINAL)
    run.feed([row(1), row(30)])
    window = ["_window_start", "_window_end", "_window_time"]
    assert run.last.main[0].columns == ["k1", *window, "a0", "a1"]


def test_an_allowed_late_row_fires_the_pair_of_old_and_new_even_if_they_are_equal() -> None:
    run = harness(replace(FINAL, calls=COUNT_AND_SUM[1:], lateness=20))
    assert run.feed([row(1), row(12)]) == [(INSERT, ("a",), (0, 10), (1,))]
    assert run.feed([row(2, None), row(3, None)]) == [
        (UPDATE_BEFORE, ("a",), (0, 10), (1,)),
        (UPDATE_AFTER, ("a",), (0, 10), (1,)),
    ]
    run.feed([row(30)])
    assert run.feed([row(2)]) == []
    assert run.last.counts["input.late"] == 1


def test_changes_are_emitted_after_every_batch_and_only_where_values_differ() -> None:
    run = harness(replace(CHANGES, calls=COUNT_AND_SUM[1:]))
    assert run.feed([row(1)]) == [(INSERT, ("a",), (0, 10), (1,))]
    assert run.feed([row(2, None)]) == []
    assert run.feed([row(3)]) == [
        (UPDATE_BEFORE, ("a",), (0, 10), (1,)),
        (UPDATE_AFTER, ("a",), (0, 10), (2,)),
    ]
    assert run.feed([], end=True) == []
    assert run.last.counts["state_rows"] == 0


def test_a_group_whose_rows_were_all_retracted_is_deleted() -> None:
    run = harness(replace(CHANGES, over_changes=True))
    run.feed([row(1, 5)])
    assert run.feed([row(1, 5, op=DELETE)]) == [(DELETE, ("a",), (0, 10), (1, 5))]
    assert run.last.counts["state_rows"] == 0
    assert run.feed([row(2, 7)]) == [(INSERT, ("a",), (0, 10), (1, 7))]


def test_sliding_windows_are_assembled_from_panes() -> None:
    run = harness(replace(FINAL, window=Window(WindowKind.SLIDING, 20, 10)))
    assert run.feed([row(1), row(11, 5)]) == [(INSERT, ("a",), (-10, 10), (1, 1))]
    assert run.last.counts["state_rows"] == 2
    assert sorted(run.feed([], end=True)) == [
        (INSERT, ("a",), (0, 20), (2, 6)),
        (INSERT, ("a",), (10, 30), (1, 5)),
    ]


def test_inherited_windows_group_by_both_bounds() -> None:
    spec = replace(FINAL, window=Window(WindowKind.INHERITED))
    rows = [replace(row(5), span=(0, 10)), replace(row(5), span=(5, 10))]
    assert sorted(harness(spec).feed([*rows, row(10)])) == [
        (INSERT, ("a",), (0, 10), (2, 2)),
        (INSERT, ("a",), (5, 10), (1, 1)),
    ]


def test_a_group_without_window_expires_after_its_ttl_and_starts_again() -> None:
    run = harness(replace(CHANGES, window=None, ttl=10))
    assert run.feed([row(0)]) == [(INSERT, ("a",), None, (1, 1))]
    run.feed([row(10, key="b")])
    assert run.last.counts["input.expired"] == 0
    run.feed([row(11, key="b")])
    assert run.last.counts["input.expired"] == 1
    assert run.feed([row(12)]) == [(INSERT, ("a",), None, (1, 1))]


def test_without_keys_and_hash_there_is_one_group_and_none_of_no_rows() -> None:
    spec = AggregateSpec((), COUNT_AND_SUM, None, emit=Emit.CHANGES)
    kernel, state = Aggregate(spec, types_of(spec)), MemoryState()
    assert kernel.step(state, {}, WatermarkAdvance(0, 5)).main == []
    frame = frame_of(spec, [row(1), row(2)]).drop("_h")
    assert kernel.step(state, {0: pre_aggregate(spec, frame)}, WatermarkAdvance(5, 6)).main[
        0
    ].rows() == [(2, 2, 0)]


def test_a_late_row_may_be_reassigned_to_the_watermark() -> None:
    late = LatePolicy(LateAction.REASSIGN, budget=15)
    run = harness(replace(FINAL, late=late))
    run.feed([row(20, 1)])
    assert run.feed([row(5, 10), row(4, 100)], end=True) == [(INSERT, ("a",), (20, 30), (2, 11))]
    assert run.last.counts["input.reassigned"] == 1
    assert run.last.counts["input.late"] == 1


def test_a_step_with_nothing_to_do_reads_only_the_manifest() -> None:
    run = harness(FINAL)
    run.feed([row(1), row(2, key="b")])
    run.state.calls.clear()
    run.kernel.step(run.state, {}, WatermarkAdvance(2, 9))
    assert run.state.calls == {"get": 1}


def test_beyond_a_limit_the_oldest_groups_are_evicted_or_the_job_stops() -> None:
    limit = StateLimit(max_rows=1, on_limit=OnLimit.EVICT)
    run = harness(replace(FINAL, limit=limit), delay=100)
    run.feed([row(1), row(2), row(15)])
    assert run.last.counts["input.evicted"] == 2
    assert run.last.counts["input.in_state"] == 1
    assert run.feed([], end=True) == [(INSERT, ("a",), (10, 20), (1, 1))]
    with pytest.raises(StateError, match="MS-STATE-LIMIT"):
        harness(replace(FINAL, limit=StateLimit(max_rows=1)), delay=100).feed([row(1), row(15)])


def test_a_folded_frame_is_one_row_a_key_and_pane() -> None:
    frame = pre_aggregate(FINAL, frame_of(FINAL, [row(1), row(2), row(11)]))
    found = frame.select("k1", "_t", "_n", "sum:x").sort("_t").rows()
    assert found == [("a", 9, 2, 2), ("a", 19, 1, 1)]
    assert frame.schema["_h"] == pl.Int64


def test_the_kernel_is_chosen_by_the_window() -> None:
    assert isinstance(create_kernel(FINAL, {}), Aggregate)
    session = replace(FINAL, window=Window(WindowKind.SESSION, 5))
    assert isinstance(create_kernel(session, {}), SessionAggregate)
