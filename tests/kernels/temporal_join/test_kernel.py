"""The temporal join by example."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from tests.kernels.join_harness import integer_key, own_hash
from tests.kernels.temporal_join.harness import (
    A,
    B,
    Harness,
    frame_of,
    harness_of,
    spec_of,
    versions,
)
from tests.kernels.temporal_join.oracle import Join, Row

from millstream.errors import StateError
from millstream.kernels.core.hashing import NULL_HASH
from millstream.kernels.core.kernel import HASH, TIME, WatermarkAdvance
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.kernels.temporal_join.kernel import COUNTS, TemporalJoin, TemporalJoinSpec
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
)
from millstream.values import Direction, JoinType


def test_a_row_meets_the_version_in_force_at_its_time_once_the_watermark_has_passed_it() -> None:
    harness = harness_of()
    rows = [Row(0, 9, A), Row(1, 10, A), Row(2, 19, A), Row(3, 20, A)]
    assert harness.feed(rows, versions(10, 20)) == {(1, 10): 1, (2, 10): 1}
    assert harness.feed([Row(4, 21, A)], versions(30)) == {(3, 20): 1}


def test_a_version_may_come_after_the_row_that_needs_it() -> None:
    harness = harness_of()
    assert not harness.feed([Row(0, 10, A), Row(1, 20, A)], versions(1))
    assert harness.feed([], versions(5, 11)) == {(0, 5): 1}
    assert harness.feed([], versions(20)) == {}
    assert harness.finish() == {(1, 20): 1}


def test_of_versions_of_one_time_the_last_to_come_counts_in_a_batch_and_between_batches() -> None:
    harness = harness_of()
    harness.feed([Row(0, 5, A)], [Row(1, 5, A), Row(2, 5, A)])
    harness.feed([Row(1, 5, A)], [Row(3, 5, A), Row(4, 5, A)])
    assert harness.last.counts["right.in_state"] == 1
    assert harness.finish() == {(0, 4): 1, (1, 4): 1}


def test_a_deleted_key_has_no_version_until_the_next_one_and_expires() -> None:
    harness = harness_of(JoinType.LEFT)
    ends = [Row(1, 0, A), Row(2, 10, A, ends=True), Row(3, 0, B), Row(4, 20, A)]
    rows = [Row(t, t, A) for t in (9, 10, 19, 20)]
    assert harness.feed([*rows, Row(21, 21, B)], ends) == {(9, 1): 1, (10, None): 1, (19, None): 1}
    assert harness.finish() == {(20, 4): 1, (21, 3): 1}
    harness = harness_of(JoinType.LEFT)
    harness.feed([Row(0, 15, A)], [*ends[:3], Row(5, 15, B)])
    assert harness.last.counts["right.in_state"] == 1  # the last of b unmatched
    assert harness.finish() == {(0, None): 1}


def test_a_version_older_than_the_tolerance_does_not_count_and_expires() -> None:
    harness = harness_of(JoinType.LEFT, tolerance=5)
    rows = [Row(0, 15, A), Row(1, 16, A)]
    assert harness.feed(rows, [Row(10, 10, A), Row(11, 16, B)]) == {(0, 10): 1}
    assert harness.last.counts["right.in_state"] == 1  # no row at 15 can come any more
    assert harness.finish() == {(1, None): 1}


def test_a_row_in_time_that_is_already_due_is_emitted_at_once() -> None:
    harness = harness_of()
    assert harness.feed([Row(0, 10, A), Row(1, 12, A)], versions(3, 11)) == {(0, 3): 1}
    assert harness.last.counts["left.in_state"] == 1


def test_forward_meets_the_first_version_at_or_after_the_row_and_no_delete() -> None:
    harness = harness_of(JoinType.LEFT, Direction.FORWARD, 10)
    came = [*versions(5, 8), Row(6, 6, A, ends=True), Row(9, 9, A), Row(9, 9, A, ends=True)]
    assert harness.feed([Row(0, 5, A), Row(1, 6, A)], came) == {(0, 5): 1}
    assert not harness.feed([Row(2, 8, A)], [])  # at 8 another may still come
    assert harness.feed([Row(3, 9, A), Row(4, 19, A)], versions(19)) == {(1, 8): 1, (2, 8): 1}
    assert harness.finish() == {(3, 19): 1, (4, 19): 1}
    assert harness.last.counts["state_rows"] == 0


@pytest.mark.parametrize("direction", list(Direction))
def test_a_stored_version_that_is_replaced_in_the_step_it_is_needed_in_counts_no_more(
    direction: Direction,
) -> None:
    harness = harness_of(JoinType.LEFT, direction, 10)
    harness.feed([Row(0, 9, A), Row(1, 5, B)], [Row(1, 9, A), Row(2, 5, B)])
    assert harness.feed([Row(2, 20, B)], [Row(3, 9, A), Row(4, 20, B)]) == {(0, 3): 1}
    harness = harness_of(JoinType.LEFT, direction, 10)
    harness.feed([Row(0, 9, A)], [Row(1, 9, A)])
    assert harness.feed([Row(1, 30, B)], [Row(2, 9, A, ends=True), Row(3, 30, B)]) == {(0, None): 1}


@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.NEAREST])
def test_a_version_at_the_watermark_counts_once_the_watermark_has_passed_it(
    direction: Direction,
) -> None:
    harness = harness_of(JoinType.LEFT, direction, 100)
    # It may yet be replaced.
    assert not harness.feed([Row(0, 5, A), Row(1, 12, B)], [Row(0, 1, B), *versions(9)])
    result = harness.join.step(harness.state, {}, WatermarkAdvance(9, 10))
    assert [frame.rows() for frame in result.main] == [[(0, 1, 9)]]


def test_only_rows_of_its_key_wake_for_a_version_whatever_their_hashes_look_like_in_state() -> None:
    spec = replace(
        spec_of(Join(JoinType.LEFT, Direction.NEAREST, 100)),
        left_keys=("l_k2",), right_keys=("r_k2",), key_is_hash=True,
    )  # fmt: skip
    harness = Harness(TemporalJoin(spec, Harness.types), hashing=integer_key)
    other = ("a", 1 ^ NULL_HASH)
    assert not harness.feed([Row(0, 5, A), Row(1, 50, other)], [Row(6, 6, ("a", 2))])
    assert harness.feed([], [Row(7, 7, A), Row(10, 10, A)]) == {(0, 7): 1}
    assert harness.last.counts["left.in_state"] == 1
    assert harness.feed([], [Row(49, 49, other), Row(60, 60, other)]) == {}
    assert harness.finish() == {(1, 49): 1}


def test_forward_without_a_version_waits_for_the_tolerance() -> None:
    harness = harness_of(JoinType.LEFT, Direction.FORWARD, 10)
    assert not harness.feed([Row(0, 5, A), Row(1, 15, B)], [Row(0, 15, B)])
    assert harness.feed([Row(2, 16, B)], [Row(1, 16, A)]) == {(0, None): 1, (1, 0): 1}


def test_nearest_meets_the_nearer_version_and_the_one_before_if_both_are_as_near() -> None:
    harness = harness_of(JoinType.LEFT, Direction.NEAREST, 10)
    rows = [Row(t, t, A) for t in (9, 14, 15, 16, 31)]
    assert harness.feed(rows, versions(10, 20, 41)) == {
        (9, 10): 1, (14, 10): 1, (15, 10): 1, (16, 20): 1,
    }  # fmt: skip
    assert harness.finish() == {(31, 41): 1}


def test_nearest_is_emitted_once_no_version_ahead_can_be_nearer_than_the_one_before() -> None:
    harness = harness_of(JoinType.LEFT, Direction.NEAREST, 100)
    assert not harness.feed([Row(0, 50, A), Row(1, 52, B)], [Row(47, 47, A), Row(0, 52, B)])
    # The row at 50 now carries its version, which itself has made room for a later one.
    assert harness.last.counts["left.in_state"] == 2
    assert harness.feed([Row(2, 53, B)], [Row(1, 53, B)]) == {(0, 47): 1, (1, 0): 1}


def test_a_keyless_row_is_emitted_at_once_where_it_is_kept_and_is_counted_elsewhere() -> None:
    harness = harness_of(JoinType.LEFT)
    assert harness.feed([Row(0, 1, ("a", None))], [Row(0, 1, (None, 1))]) == {(0, None): 1}
    counts = harness.last.counts
    assert (counts["left.accepted"], counts["left.processed"], counts["left.missing_key"]) == (
        1,
        1,
        0,
    )
    assert (counts["right.accepted"], counts["right.missing_key"]) == (0, 1)
    inner = harness_of()
    assert not inner.feed([Row(0, 1, ("a", None))], [])
    assert inner.last.counts["left.missing_key"] == 1


def test_a_key_that_is_null_in_part_matches_nothing_even_if_it_has_a_hash() -> None:
    harness = harness_of(JoinType.LEFT)
    rows, came = ([Row(0, 1, ("a", None))], [Row(0, 1, ("a", None))])
    frames = {0: frame_of(rows, 0, own_hash), 1: frame_of(came, 1, own_hash)}
    frames = {side: frame.with_columns(_h=pl.lit(7)) for side, frame in frames.items()}
    result = harness.join.step(MemoryState(), frames, WatermarkAdvance(BEGIN_OF_TIME, 5))
    assert result.main[0].rows() == [(0, None, None)]


def test_late_rows_are_counted_and_emitted_to_a_side_output() -> None:
    harness = harness_of(JoinType.LEFT, late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness.feed([Row(0, 50, A)], versions(50))
    harness.feed([Row(1, 49, A), Row(2, 50, A)], versions(40))
    counts = harness.last.counts
    assert (counts["left.late"], counts["right.late"]) == (1, 1)
    assert harness.last.late[0].select("l_id", "_t", "_lateness").rows() == [(1, 49, 1)]
    assert harness.last.late[1].select("r_id", "_t", "_lateness").rows() == [(40, 40, 10)]
    assert harness.finish() == {(0, 50): 1, (2, 50): 1}


def test_late_rows_within_the_budget_may_move_to_the_watermark() -> None:
    harness = harness_of(late=LatePolicy(LateAction.REASSIGN, budget=10))
    harness.feed([Row(0, 50, A)], versions(50))
    harness.feed([Row(1, 40, A), Row(2, 39, A)], [Row(7, 45, A)])
    counts = harness.last.counts
    assert (counts["left.reassigned"], counts["left.late"], counts["right.reassigned"]) == (1, 1, 1)
    assert harness.finish() == {(0, 7): 1, (1, 7): 1}


def test_one_version_of_each_key_is_stored_however_many_came() -> None:
    harness = harness_of()
    for start in range(0, 3000, 100):
        times = range(start, start + 100)
        harness.feed([Row(start + 99, start + 99, A)], [Row(t, t, ("k", t % 3)) for t in times])
    assert harness.last.counts["right.in_state"] == 3
    assert harness.last.counts["right.expired"] == 2997


def test_state_over_its_limit_fails_and_says_what_to_do() -> None:
    harness = harness_of(limit=StateLimit(max_rows=2))
    with pytest.raises(StateError) as failure:
        harness.feed([], versions(1, 2, 3))
    assert str(failure.value) == (
        "MS-STATE-LIMIT: one key group of the temporal join has 3 rows; its limit is 2. Raise "
        "'state.max_rows', shorten the retention of rows, or set 'state.on_limit' = 'evict' to "
        "evict the oldest rows."
    )
    assert harness.state.stored_bytes == 0


def test_a_waiting_row_that_must_go_is_emitted_as_unmatched() -> None:
    harness = harness_of(JoinType.LEFT, limit=StateLimit(max_rows=1, on_limit=OnLimit.EVICT))
    assert harness.feed([Row(0, 5, A), Row(1, 6, A)], []) == {(0, None): 1}
    assert harness.last.counts["left.evicted"] == 1


def test_a_step_in_which_nothing_happens_reads_one_value_and_writes_nothing() -> None:
    harness = harness_of()
    harness.feed([Row(0, 10, A), Row(1, 50, A)], versions(1, 30))
    harness.feed([], [Row(31, 31, B)])
    harness.state.calls.clear()
    assert not harness.feed([], [])
    assert harness.state.calls == {"get": 1}


def test_counts_continue_after_a_restart() -> None:
    harness = harness_of(JoinType.LEFT)
    harness.feed([Row(0, 10, A), Row(1, 20, B)], versions(1, 20))
    harness.join = TemporalJoin(harness.join.spec, Harness.types)
    cache.clear_cache()
    harness.finish()
    counts = harness.last.counts
    assert set(counts) == set(COUNTS)
    assert {name: counts[name] for name in ("matches", "unmatched", "peak_rows")} == {
        "matches": 1, "unmatched": 1, "peak_rows": 2,
    }  # fmt: skip


@pytest.mark.parametrize("strategy", ["backward", "forward"])
@pytest.mark.parametrize("tolerance", [40, 4000])
def test_many_rows_and_hot_keys_equal_a_batch_join(strategy: Any, tolerance: int) -> None:
    count = 30_000
    numbers = pl.Series(range(count))
    key = (numbers * numbers % 997 % 50).alias("l_k")
    left = pl.DataFrame({"_t": numbers * 10, "l_k": key, "l_id": numbers, "_h": key})
    key = (numbers * numbers % 991 % 50).alias("r_k")
    right = pl.DataFrame({"_t": numbers * 10 + 3, "r_k": key, "r_id": numbers, "_h": key})
    spec = TemporalJoinSpec(
        JoinType.LEFT, ("l_k",), ("r_k",), ("l_id",), ("r_id",), Direction(strategy), tolerance
    )
    join, state, before = TemporalJoin(spec, {"r_id": pl.Int64}), MemoryState(), BEGIN_OF_TIME
    out = []
    for start in range(0, count + 1, 6000):
        inputs = {0: left[start : start + 6000], 1: right[start : start + 6000]}
        after = END_OF_TIME if start == count else (start + 6000) * 10 - 100
        out += join.step(state, inputs, WatermarkAdvance(before, after)).main
        before = after
    expected = left.join_asof(
        right, on="_t", by_left="l_k", by_right="r_k", strategy=strategy, tolerance=tolerance,
        check_sortedness=False,
    )  # fmt: skip
    assert pl.concat(out).sort("l_id").equals(expected.select("l_id", "r_id").sort("l_id"))


@pytest.mark.parametrize("direction", list(Direction))
def test_an_integer_key_that_nobody_reads_is_known_after_a_restart(direction):
    """The hash is then the key, and no other column holds it."""
    spec = TemporalJoinSpec(
        JoinType.LEFT,
        (HASH,),
        (HASH,),
        ("l_id",),
        ("r_id",),
        direction=direction,
        tolerance=None if direction is Direction.BACKWARD else 50,
        key_is_hash=True,
    )
    kernel = TemporalJoin(spec, {"l_id": pl.Int64(), "r_id": pl.Int64()})
    state, begin = MemoryState(), -(2**62)
    rows = pl.DataFrame({TIME: [5, 6], HASH: [1, 2], "l_id": [1, 2]})
    versions = pl.DataFrame({TIME: [1, 7], HASH: [1, 1], "r_id": [10, 20]})
    kernel.step(state, {0: rows, 1: versions}, WatermarkAdvance(begin, begin))
    cache.clear_cache()
    found = kernel.step(state, {}, WatermarkAdvance(begin, 100)).main
    met = 10 if direction is Direction.BACKWARD else 20
    assert sorted(row for frame in found for row in frame.rows()) == [(1, met), (2, None)]
