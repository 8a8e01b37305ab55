"""Deduplication by example."""

from __future__ import annotations

import polars as pl
import pytest
from tests.kernels.single_input import Harness, Row

from millstream.errors import StateError
from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.deduplicate import Deduplicate, DeduplicateSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
)


def dedup(within: int | None = None, **more: object) -> Deduplicate:
    return Deduplicate(DeduplicateSpec(("k1", "k2"), ("id",), within, **more))  # type: ignore[arg-type]


def ids(rows: list[dict[str, object]]) -> list[object]:
    return [row["id"] for row in rows]


def test_the_earliest_of_a_batch_passes_and_later_batches_know_it() -> None:
    harness = Harness(dedup(), delay=100)
    first = [Row(0, 5, ("a", 1)), Row(1, 3, ("a", 1)), Row(2, 3, ("a", 1)), Row(3, 9, ("b", 1))]
    assert ids(harness.feed(first)) == [1, 3]
    assert ids(harness.feed([Row(4, 1, ("a", 1)), Row(5, 99, ("b", 1))])) == []
    assert harness.last.counts["input.duplicate"] == 4
    assert harness.last.counts["input.accepted"] == harness.last.counts["rows_out"] == 2


def test_null_is_a_key_like_any_other() -> None:
    harness = Harness(dedup())
    rows = [Row(0, 1, (None, 1)), Row(1, 1, (None, 1)), Row(2, 1, (None, None)), Row(3, 1, ("", 1))]
    assert ids(harness.feed(rows)) == [0, 2, 3]
    assert ids(harness.feed([Row(4, 1, (None, None)), Row(5, 1, (None, 2))])) == [5]


def test_a_key_may_pass_again_once_more_than_the_span_apart() -> None:
    harness = Harness(dedup(10), delay=100)
    assert ids(harness.feed([Row(i, t, ("a", 1)) for i, t in enumerate([0, 10, 11, 21, 22])])) == [
        0, 2, 4,
    ]  # fmt: skip
    assert ids(harness.feed([Row(9, -10, ("a", 1)), Row(10, -11, ("a", 1))])) == [10]


def test_a_key_expires_once_no_row_in_time_can_repeat_it() -> None:
    harness = Harness(dedup(10))
    harness.feed([Row(0, 0, ("a", 1))])
    harness.feed([Row(1, 10, ("b", 1))])
    assert harness.last.counts["input.in_state"] == 2
    harness.feed([Row(2, 11, ("c", 1))])
    assert (harness.last.counts["input.in_state"], harness.last.counts["input.expired"]) == (2, 1)
    harness.finish()
    assert harness.last.counts["state_rows"] == 0
    assert not harness.state.map("segments").content


def test_late_rows_are_neither_known_nor_passed() -> None:
    late = LatePolicy(LateAction.SIDE_OUTPUT)
    harness = Harness(dedup(late=late))
    harness.feed([Row(0, 10, ("a", 1))])
    assert ids(harness.feed([Row(1, 9, ("b", 1)), Row(2, 10, ("b", 1))])) == [2]
    assert harness.last.late[0].select("id", "_lateness").rows() == [(1, 1)]
    assert harness.last.counts["input.late"] == 1


def test_a_late_row_within_the_budget_passes_with_the_time_of_the_watermark() -> None:
    harness = Harness(dedup(5, late=LatePolicy(LateAction.REASSIGN, 3)))
    harness.feed([Row(0, 10, ("a", 1))])
    assert ids(harness.feed([Row(1, 7, ("b", 1)), Row(2, 6, ("c", 1))])) == [1]
    assert (harness.last.counts["input.late"], harness.last.counts["input.reassigned"]) == (1, 1)
    assert ids(harness.feed([Row(3, 15, ("b", 1))])) == []


def test_state_holds_only_keys_and_times() -> None:
    text = pl.Series("text", [f"{number:>500}" for number in range(1000)])
    keys = pl.Series("k", range(1000))
    frame = pl.DataFrame([keys, text, keys.alias("_t"), keys.alias("_h")])
    state = MemoryState()
    spec = DeduplicateSpec(("k",), ("k", "text"), None)
    kernel = Deduplicate(spec, hash_is_key=True)
    advance = WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)
    (out,) = kernel.step(state, {0: frame}, advance).main
    assert out.equals(frame.select("k", "text"))
    assert state.stored_bytes < 1000 * 16 + 1500
    assert kernel.step(state, {0: frame}, advance).main == []


def test_a_step_with_nothing_to_do_reads_only_the_manifest() -> None:
    harness = Harness(dedup(10))
    harness.feed([Row(0, 5, ("a", 1))])
    harness.state.calls.clear()
    harness.feed([])
    assert harness.state.calls == {"get": 1}


def test_a_limit_stops_the_job_or_evicts_the_oldest_keys() -> None:
    rows = [Row(i, 10 - i, ("a", i)) for i in range(5)]
    with pytest.raises(
        StateError, match="one key group of the deduplication has 5 rows; its limit"
    ):
        Harness(dedup(limit=StateLimit(3))).feed(rows)
    harness = Harness(dedup(limit=StateLimit(3, on_limit=OnLimit.EVICT)), delay=100)
    assert len(harness.feed(rows)) == 5
    assert (harness.last.counts["input.in_state"], harness.last.counts["input.evicted"]) == (3, 2)
    assert ids(harness.feed([Row(9, 6, ("a", 4)), Row(8, 9, ("a", 1))])) == [9]


def test_a_long_chain_of_one_key_is_followed_to_its_end() -> None:
    times = pl.int_range(0, 30_000, eager=True).alias("_t")
    frame = pl.DataFrame([times, times.alias("id")]).with_columns(
        k1=pl.lit("a"), k2=pl.lit(1), _h=pl.lit(1, pl.Int64)
    )
    (out,) = (
        dedup(2).step(MemoryState(), {0: frame}, WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)).main
    )
    assert out["id"].to_list() == list(range(0, 30_000, 3))
