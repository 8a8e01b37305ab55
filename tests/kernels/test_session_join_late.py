"""Late rows of session joins, their limits and their account."""

from __future__ import annotations

import pickle
from collections import Counter

import polars as pl
import pytest
from tests.kernels.join_host import own_hash
from tests.kernels.session_join_host import EITHER, NO_KEY, A, B, Host, at, frame_of, host_of
from tests.kernels.session_join_oracle import Row

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
    host = host_of(JoinType.LEFT)
    host.feed(at(0), [], to=100)
    assert host.feed(at(94, 95, key=B, first=1), []) == {}  # 94 and 95 are one session: open
    assert host.feed(at(80, 94, first=3), []) == {}
    assert host.last.counts["left.late"] == 2
    assert host.finish() == {(1, None, 94, 100): 1, (2, None, 94, 100): 1}


def test_an_old_row_that_touches_an_open_session_is_part_of_it() -> None:
    host = host_of()
    host.feed(at(92, 96), at(96), to=100)
    assert host.feed(at(88, first=2), []) == {}
    assert host.last.counts["left.late"] == 0
    assert host.finish() == {(number, 0, 88, 101): 1 for number in range(3)}


def test_a_row_after_the_close_begins_a_new_session() -> None:
    """It would have been of the session [90, 95], which has come out."""
    host = host_of(JoinType.LEFT)
    assert host.feed(at(90), [], to=96) == {(0, None, 90, 95): 1}
    assert host.feed(at(94, first=1), []) == {}
    assert host.finish() == {(1, None, 94, 99): 1}


def test_a_closed_session_that_waits_does_not_grow() -> None:
    """Left [90, 95] waits for right [93, 103]. What comes then is another session, though it
    reaches back into the first one's time."""
    host = host_of()
    assert host.feed(at(88, 90), at(93, 98), to=96) == {}
    assert host.feed(at(89, 94, first=2), []) == {}
    assert host.finish() == {
        **{(left, right, 88, 103): 1 for left in (0, 1) for right in (0, 1)},
        **{(left, right, 89, 103): 1 for left in (2, 3) for right in (0, 1)},
    }


def test_late_rows_are_dropped_and_counted() -> None:
    host = host_of(JoinType.FULL)
    host.feed([], [], to=100)
    host.feed(at(1), at(1))
    host.feed(at(1), at(1, 2, 3))
    counts = host.last.counts
    assert (counts["left.late"], counts["right.late"]) == (2, 4)
    assert host.last.late == {}
    assert host.finish() == {}


def test_late_rows_within_the_budget_count_at_the_watermark() -> None:
    host = host_of(late=LatePolicy(LateAction.REASSIGN, budget=50))
    host.feed([], [], to=100)
    host.feed(at(50, 49), at(104))
    counts = host.last.counts
    assert (counts["left.late"], counts["left.reassigned"]) == (1, 1)
    assert host.finish() == {(0, 0, 100, 109): 1}


def test_late_rows_come_out_as_they_came() -> None:
    host = host_of(late=LatePolicy(LateAction.SIDE_OUTPUT))
    host.feed([], [], to=100)
    host.feed(at(10, 120), [Row(4, 94, NO_KEY)])
    left, right = host.last.late[0], host.last.late[1]
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
    host = host_of(JoinType.LEFT, lateness=10)
    assert host.feed(at(0), [], to=15) == {}
    assert host.feed(at(2, first=1), at(7)) == {}
    assert host.last.counts["left.late"] == 0
    assert host.feed([], [], to=22) == {}
    assert host.feed([], [], to=23) == {(0, 0, 0, 12): 1, (1, 0, 0, 12): 1}


def test_beyond_its_limit_a_join_fails_and_says_what_to_do() -> None:
    host = host_of(limit=StateLimit(3))
    with pytest.raises(StateError) as failed:
        host.feed(at(0, 1), at(0), to=0)
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
    host = host_of(JoinType.FULL, emit, limit=StateLimit(4, on_limit=OnLimit.EVICT))
    assert host.feed(at(50), [], to=0) == {}
    out = host.feed([Row(1, 0, B), Row(2, 1, B)], [Row(0, 2, B)], to=0)
    assert out == {(1, 0, 0, 7): 1, (2, 0, 0, 7): 1}  # and A is held
    counts = host.last.counts
    assert (counts["left.evicted"], counts["right.evicted"], counts["left.in_state"]) == (2, 1, 1)
    assert host.finish() == {(0, None, 50, 55): 1}


def test_beyond_a_limit_of_bytes_sessions_close_early() -> None:
    host = host_of(JoinType.LEFT, limit=StateLimit(max_bytes=1, on_limit=OnLimit.EVICT))
    assert host.feed(at(0, 20), [], to=0) == {(0, None, 0, 5): 1, (1, None, 20, 25): 1}
    assert host.last.counts["state_bytes"] == 0


def test_the_account_has_the_same_names_as_that_of_other_joins() -> None:
    host = host_of()
    host.feed(at(0), at(0))
    assert set(host.last.counts) == set(COUNTS)


def test_a_step_that_changes_nothing_touches_no_store_but_one() -> None:
    host = host_of()
    host.feed(at(0), at(0), to=0)
    calls = host.state.calls.copy()
    host.feed([], [], to=5)
    assert host.state.calls - calls == Counter(get=1)


def test_a_session_that_grows_is_not_read_again() -> None:
    """Its rows are read when they come out: what a step reads does not grow with the session."""
    host = host_of()
    host.join = SessionJoin(host.join.spec, Host.types)
    for number in range(40):
        rows = [Row(number * 3000 + each, number, A) for each in range(3000)]
        host.feed(rows, [], to=0)
    cache.clear_cache()
    calls = host.state.calls.copy()
    host.feed(at(40), [], to=0)
    assert (host.state.calls - calls)["get"] <= 2  # the manifests, and the page of sessions


def test_a_kernel_travels_to_workers_and_takes_frames_as_they_come() -> None:
    kernel = pickle.loads(pickle.dumps(host_of(JoinType.LEFT).join))
    part = frame_of(at(0, 1), 0, own_hash).with_columns(pl.lit(1).alias("other"))
    left = pl.concat([part, part], rechunk=False).select(reversed(part.columns))
    copy = left.clone()
    end = WatermarkAdvance(BEGIN_OF_TIME, END_OF_TIME)
    (out,) = kernel.step(MemoryState(), {0: left}, end).main
    assert out.schema["r_id"] == pl.Int64
    assert sorted(out["l_id"]) == [0, 0, 1, 1]
    assert left.equals(copy)
