"""The session join by example."""

from __future__ import annotations

import pytest
from tests.kernels.session_join_host import CHANGES, EITHER, FINAL, NO_KEY, A, B, at, host_of
from tests.kernels.session_join_oracle import Row

from millstream.temporal import (
    BEGIN_OF_TIME,
    Emit,
)
from millstream.values import JoinType


def test_every_row_with_every_row_once_both_sessions_are_closed() -> None:
    host = host_of()
    assert host.feed(at(0, 4), at(3), to=9) == {}
    assert host.feed([], [], to=10) == {(0, 0, 0, 9): 1, (1, 0, 0, 9): 1}
    assert host.last.counts["state_rows"] == 0


def test_the_session_that_ends_later_decides_when_both_come_out() -> None:
    host = host_of()
    assert host.feed(at(0), at(2, 7, 12), to=13) == {}
    assert host.last.counts["left.in_state"] == 1  # closed, and held for the open one
    assert host.feed([], [], to=18) == {(0, 0, 0, 17): 1, (0, 1, 0, 17): 1, (0, 2, 0, 17): 1}


def test_rows_come_out_as_soon_as_their_sessions_meet() -> None:
    host = host_of(emit=CHANGES)
    assert host.feed(at(0, 4), []) == {}
    assert host.feed([], at(3)) == {(0, 0, 0, 9): 1, (1, 0, 0, 9): 1}
    assert host.feed(at(6, first=2), at(7, first=1)) == {
        (0, 1, 0, 12): 1,
        (1, 1, 0, 12): 1,
        (2, 0, 0, 12): 1,
        (2, 1, 0, 12): 1,
    }
    assert host.finish() == {}


@EITHER
def test_sessions_that_touch_meet_and_those_a_moment_apart_do_not(emit: Emit) -> None:
    host = host_of(JoinType.FULL, emit)
    touching = host.feed(at(0), at(5))
    touching.update(host.finish())
    assert touching == {(0, 0, 0, 10): 1}
    host = host_of(JoinType.FULL, emit)
    apart = host.feed(at(0), at(6))
    apart.update(host.finish())
    assert apart == {(0, None, 0, 5): 1, (None, 0, 6, 11): 1}


@EITHER
def test_rows_that_touch_are_of_one_session(emit: Emit) -> None:
    host = host_of(emit=emit)
    out = host.feed(at(0, 5, 10), at(15))
    out.update(host.finish())
    assert out == {(0, 0, 0, 20): 1, (1, 0, 0, 20): 1, (2, 0, 0, 20): 1}


def test_a_row_that_bridges_two_sessions_makes_them_meet_what_either_met() -> None:
    """Left 0 met right 0, left 1 met right 1; the bridge makes left 0 meet right 1, and so on."""
    host = host_of(emit=CHANGES)
    assert host.feed(at(0, 8), at(1, 13), to=0) == {(0, 0, 0, 6): 1, (1, 1, 8, 18): 1}
    assert host.feed(at(4, first=2), []) == {
        (0, 1, 0, 18): 1,
        (1, 0, 0, 13): 1,
        (2, 0, 0, 13): 1,
        (2, 1, 0, 18): 1,
    }
    assert host.finish() == {}


def test_a_bridge_over_held_sessions_is_one_window() -> None:
    host = host_of(JoinType.FULL)
    assert host.feed(at(0, 8), at(13), to=0) == {}
    assert host.feed(at(4, first=2), [], to=0) == {}
    assert host.finish() == {(0, 0, 0, 18): 1, (1, 0, 0, 18): 1, (2, 0, 0, 18): 1}


def test_a_bridge_on_one_side_does_not_make_sessions_of_the_other_one() -> None:
    host = host_of()
    host.feed(at(0, 5, 10), at(0, 11), to=0)
    out = host.finish()
    first = {(number, 0, 0, 15): 1 for number in range(3)}
    assert out == first | {(number, 1, 0, 16): 1 for number in range(3)}


def test_a_chain_of_meetings_joins_only_those_that_share_a_moment() -> None:
    """Left [0, 5], right [4, 9], left [9, 14], right [13, 18]: the outer two do not meet."""
    host = host_of(JoinType.FULL)
    host.feed(at(0, 9), at(4, 13), to=0)
    assert host.finish() == {(0, 0, 0, 9): 1, (1, 0, 4, 14): 1, (1, 1, 9, 18): 1}


@EITHER
def test_rows_of_one_time_and_equal_rows_each_count(emit: Emit) -> None:
    host = host_of(emit=emit)
    twin = Row(7, 3, A)
    out = host.feed([twin, twin], at(3, 3))
    out.update(host.finish())
    assert out == {(7, 0, 3, 8): 2, (7, 1, 3, 8): 2}


def test_keys_that_differ_do_not_meet_even_if_their_hashes_do() -> None:
    host = host_of(JoinType.FULL)
    host.hashing = lambda _: 1
    host.feed(at(0, key=A), at(0, key=B), to=0)
    assert host.finish() == {(0, None, 0, 5): 1, (None, 0, 0, 5): 1}


@EITHER
def test_a_row_without_a_key_is_a_session_of_its_own(emit: Emit) -> None:
    host = host_of(JoinType.LEFT, emit)
    assert host.feed(at(0, 1, key=NO_KEY), at(0, key=NO_KEY)) == {
        (0, None, 0, 5): 1,
        (1, None, 1, 6): 1,
    }
    counts = host.last.counts
    assert (counts["left.accepted"], counts["right.missing_key"]) == (2, 1)
    assert host.finish() == {}


@EITHER
@pytest.mark.parametrize("how", list(JoinType))
def test_a_session_that_met_none_comes_out_once_it_is_closed(how: JoinType, emit: Emit) -> None:
    host = host_of(how, emit)
    assert host.feed(at(0, 3), at(20), to=8) == {}
    alone = {(0, None, 0, 8): 1, (1, None, 0, 8): 1} if how.preserves_left else {}
    assert host.feed([], [], to=9) == alone
    assert host.last.counts["unmatched"] == len(alone)
    assert host.finish() == ({(None, 0, 20, 25): 1} if how.preserves_right else {})
    assert host.last.counts["state_rows"] == 0


def test_while_one_input_is_silent_nothing_is_closed() -> None:
    host = host_of(JoinType.FULL)
    assert host.feed(at(0, 100, 200), []) == {}
    assert host.advance.after == BEGIN_OF_TIME
    assert host.feed([], at(200)) == {(0, None, 0, 5): 1, (1, None, 100, 105): 1}
    assert host.finish() == {(2, 0, 200, 205): 1}


def test_semi_a_left_row_comes_out_once_with_the_partner_that_closes_first() -> None:
    host = host_of(JoinType.SEMI)
    assert host.feed(at(0, 5, 10), at(0, 11, 16), to=15) == {}
    first = {(number, None, 0, 15): 1 for number in range(3)}
    assert host.feed([], [], to=16) == first
    assert host.finish() == {}
    assert host.last.counts["matches"] == 3


def test_semi_a_closed_session_waits_for_its_only_partner() -> None:
    host = host_of(JoinType.SEMI)
    assert host.feed(at(0), at(4), to=6) == {}
    assert host.last.counts["left.in_state"] == 1
    assert host.feed([], [], to=10) == {(0, None, 0, 9): 1}


def test_semi_a_row_comes_out_at_once_when_its_session_has_met_one() -> None:
    host = host_of(JoinType.SEMI, CHANGES)
    assert host.feed(at(0), []) == {}
    assert host.feed([], at(4)) == {(0, None, 0, 9): 1}
    assert host.feed(at(3, first=1), at(5, first=1)) == {(1, None, 0, 10): 1}
    assert host.last.counts["left.in_state"] == host.last.counts["right.in_state"] == 0
    assert host.finish() == {}


@EITHER
def test_anti_rows_of_a_session_that_met_one_are_not_held(emit: Emit) -> None:
    host = host_of(JoinType.ANTI, emit)
    assert host.feed(at(0, 20), at(4), to=0) == {}
    assert host.last.counts["left.in_state"] == 1
    assert host.feed(at(3, first=2), [], to=0) == {}
    assert host.last.counts["left.in_state"] == 1
    assert host.finish() == {(1, None, 20, 25): 1}


@pytest.mark.parametrize(
    ("how", "emit"),
    [(JoinType.ANTI, FINAL), (JoinType.ANTI, CHANGES), (JoinType.SEMI, CHANGES)],
)
def test_a_closed_session_is_not_held_where_it_is_enough_that_it_was_met(
    how: JoinType, emit: Emit
) -> None:
    host = host_of(how, emit)
    host.feed(at(0, 5, 10), at(0), to=6)
    assert host.last.counts["state_rows"] == 1  # the left session, without its rows
    out = host.feed(at(14, first=3), [])  # what it met is gone; that it did is known
    assert out == ({(3, None, 0, 19): 1} if how is JoinType.SEMI else {})
    assert host.finish() == {}
