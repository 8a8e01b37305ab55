"""Late rows of session joins, limits and counts."""

from __future__ import annotations

import pickle
from collections import Counter

import polars as pl
import pytest
from tests.kernels.join_harness import own_hash
from tests.kernels.session_join.harness import (
    EITHER,
    NO_KEY,
    A,
    B,
    Harness,
    at,
    frame_of,
    harness_of,
)
from tests.kernels.session_join.oracle import Row

from millstream.errors import StateError
from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.session_join.kernel import COUNTS, SessionJoin
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    Emit,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
)
from millstream.values import JoinType


def test_late_rows_are_those_that_would_make_only_what_is_closed() -> None:
    harness = harness_of(JoinType.LEFT)
    harness.feed(at(0), [], to=100)
    assert harness.feed(at(94, 95, key=B, first=1), []) == {}  # 94 and 95 are one session: open
    assert harness.feed(at(80, 94, first=3), []) == {}
    assert harness.last.counts["left.late"] == 2
    assert harness.finish() == {(1, None, 94, 100): 1, (2, None, 94, 100): 1}


def test_an_old_row_that_touches_an_open_session_is_part_of_it() -> None:
    harness = harness_of()
    harness.feed(at(92, 96), at(96), to=100)
    assert harness.feed(at(88, first=2), []) == {}
    assert harness.last.counts["left.late"] == 0
    assert harness.finish() == {(number, 0, 88, 101): 1 for number in range(3)}


def test_a_row_after_the_close_begins_a_new_session() -> None:
    """It would have been of the session [90, 95], which was emitted."""
    harness = harness_of(JoinType.LEFT)
    assert harness.feed(at(90), [], to=96) == {(0, None, 90, 95): 1}
    assert harness.feed(at(94, first=1), []) == {}
    assert harness.finish() == {(1, None, 94, 99): 1}


def test_a_closed_session_that_waits_does_not_grow() -> None:
    """Left [90, 95] waits for right [93, 103]. What comes then is another session, though it
    reaches back into the first one's time."""
    harness = harness_of()
    assert harness.feed(at(88, 90), at(93, 98), to=96) == {}
    assert harness.feed(at(89, 94, first=2), []) == {}
    assert harness.finish() == {
        **{(left, right, 88, 103): 1 for left in (0, 1) for right in (0, 1)},
        **{(left, right, 89, 103): 1 for left in (2, 3) for right in (0, 1)},
    }


def test_late_rows_are_dropped_and_counted() -> None:
    harness = harness_of(JoinType.FULL)
    harness.feed([], [], to=100)
    harness.feed(at(1), at(1))
    harness.feed(at(1), at(1, 2, 3))
    counts = harness.last.counts
    assert (counts["left.late"], counts["right.late"]) == (2, 4)
    assert harness.last.late == {}
    assert harness.finish() == {}


def test_late_rows_within_the_budget_count_at_the_watermark() -> None:
    harness = harness_of(late=LatePolicy(LateAction.REASSIGN, budget=50))
    harness.feed([], [], to=100)
    harness.feed(at(50, 49), at(104))
    counts = harness.last.counts
    assert (counts["left.late"], counts["left.reassigned"]) == (1, 1)
    assert harness.finish() == {(0, 0, 100, 109): 1}


def test_late_rows_are_emitted_as_they_came() -> None:
    harness = harness_of(late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness.feed([], [], to=100)
    harness.feed(at(10, 120), [Row(4, 94, NO_KEY)])
    left, right = harness.last.late[0], harness.last.late[1]
    assert left.rows(named=True) == [
        {
            "_t": 10,
            "l_k1": "a",
            "l_k2": 1,
            "l_id": 0,
            "_h": own_hash(Row(0, 10, A)),
            "_lateness": 90,
        }
    ]
    assert right.select("r_id", "_lateness").rows() == [(4, 6)]


def test_lateness_keeps_a_session_open_after_its_end() -> None:
    harness = harness_of(JoinType.LEFT, lateness=10)
    assert harness.feed(at(0), [], to=15) == {}
    assert harness.feed(at(2, first=1), at(7)) == {}
    assert harness.last.counts["left.late"] == 0
    assert harness.feed([], [], to=22) == {}
    assert harness.feed([], [], to=23) == {(0, 0, 0, 12): 1, (1, 0, 0, 12): 1}


def test_beyond_its_limit_a_join_fails_and_says_what_to_do() -> None:
    harness = harness_of(limit=StateLimit(3))
    with pytest.raises(StateError) as failed:
        harness.feed(at(0, 1), at(0), to=0)
    assert failed.value.code == "MS-STATE-LIMIT"
    assert str(failed.value.cause) == (
        "one key group of the session join has 5 rows; its limit is 3."
    )
    assert failed.value.fix == (
        "Raise 'state.max_rows', shorten the gap, or set 'state.on_limit' = 'evict' to close the "
        "oldest sessions early."
    )


@EITHER
def test_beyond_a_limit_sessions_that_end_first_close_early(emit: Emit) -> None:
    harness = harness_of(JoinType.FULL, emit, limit=StateLimit(4, on_limit=OnLimit.EVICT))
    assert harness.feed(at(50), [], to=0) == {}
    out = harness.feed([Row(1, 0, B), Row(2, 1, B)], [Row(0, 2, B)], to=0)
    assert out == {(1, 0, 0, 7): 1, (2, 0, 0, 7): 1}  # and A is stored
    counts = harness.last.counts
    assert (counts["left.evicted"], counts["right.evicted"], counts["left.in_state"]) == (2, 1, 1)
    assert harness.finish() == {(0, None, 50, 55): 1}


def test_beyond_a_limit_of_bytes_sessions_close_early() -> None:
    harness = harness_of(JoinType.LEFT, limit=StateLimit(max_bytes=1, on_limit=OnLimit.EVICT))
    assert harness.feed(at(0, 20), [], to=0) == {(0, None, 0, 5): 1, (1, None, 20, 25): 1}
    assert harness.last.counts["state_bytes"] == 0


def test_the_counts_have_the_same_names_as_that_of_other_joins() -> None:
    harness = harness_of()
    harness.feed(at(0), at(0))
    assert set(harness.last.counts) == set(COUNTS)


def test_a_step_that_changes_nothing_touches_no_store_but_one() -> None:
    harness = harness_of()
    harness.feed(at(0), at(0), to=0)
    calls = harness.state.calls.copy()
    harness.feed([], [], to=5)
    assert harness.state.calls - calls == Counter(get=1)


def test_a_session_that_grows_is_not_read_again() -> None:
    """Its rows are read when they are emitted: what a step reads does not grow with the session."""
    harness = harness_of()
    harness.join = SessionJoin(harness.join.spec, Harness.types)
    for number in range(40):
        rows = [Row(number * 3000 + each, number, A) for each in range(3000)]
        harness.feed(rows, [], to=0)
    cache.clear_cache()
    calls = harness.state.calls.copy()
    harness.feed(at(40), [], to=0)
    assert (harness.state.calls - calls)["get"] <= 2  # the manifests, and the page of sessions


def test_a_kernel_can_be_pickled_and_takes_frames_as_they_come() -> None:
    kernel = pickle.loads(pickle.dumps(harness_of(JoinType.LEFT).join))
    part = frame_of(at(0, 1), 0, own_hash).with_columns(pl.lit(1).alias("other"))
    left = pl.concat([part, part], rechunk=False).select(reversed(part.columns))
    copy = left.clone()
    end = WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
    (out,) = kernel.step(MemoryState(), {0: left}, end).main
    assert out.schema["r_id"] == pl.Int64
    assert sorted(out["l_id"]) == [0, 0, 1, 1]
    assert left.equals(copy)
