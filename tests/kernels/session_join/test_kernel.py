"""The session join by example."""

from __future__ import annotations

import pytest
from tests.kernels.session_join.harness import CHANGES, EITHER, FINAL, NO_KEY, A, B, at, harness_of
from tests.kernels.session_join.oracle import Row

from millstream.temporal import (
    BEGIN_OF_TIME,
    Emit,
)
from millstream.values import JoinType


def test_every_row_with_every_row_once_both_sessions_are_closed() -> None:
    harness = harness_of()
    assert harness.feed(at(0, 4), at(3), to=9) == {}
    assert harness.feed([], [], to=10) == {(0, 0, 0, 9): 1, (1, 0, 0, 9): 1}
    assert harness.last.counts["state_rows"] == 0


def test_the_session_that_ends_later_decides_when_both_are_emitted() -> None:
    harness = harness_of()
    assert harness.feed(at(0), at(2, 7, 12), to=13) == {}
    assert harness.last.counts["left.in_state"] == 1  # closed, and stored for the open one
    assert harness.feed([], [], to=18) == {(0, 0, 0, 17): 1, (0, 1, 0, 17): 1, (0, 2, 0, 17): 1}


def test_rows_are_emitted_as_soon_as_their_sessions_overlap() -> None:
    harness = harness_of(emit=CHANGES)
    assert harness.feed(at(0, 4), []) == {}
    assert harness.feed([], at(3)) == {(0, 0, 0, 9): 1, (1, 0, 0, 9): 1}
    assert harness.feed(at(6, first=2), at(7, first=1)) == {
        (0, 1, 0, 12): 1,
        (1, 1, 0, 12): 1,
        (2, 0, 0, 12): 1,
        (2, 1, 0, 12): 1,
    }
    assert harness.finish() == {}


@EITHER
def test_sessions_that_touch_match_and_those_a_moment_apart_do_not(emit: Emit) -> None:
    harness = harness_of(JoinType.FULL, emit)
    touching = harness.feed(at(0), at(5))
    touching.update(harness.finish())
    assert touching == {(0, 0, 0, 10): 1}
    harness = harness_of(JoinType.FULL, emit)
    apart = harness.feed(at(0), at(6))
    apart.update(harness.finish())
    assert apart == {(0, None, 0, 5): 1, (None, 0, 6, 11): 1}


@EITHER
def test_rows_that_touch_are_of_one_session(emit: Emit) -> None:
    harness = harness_of(emit=emit)
    out = harness.feed(at(0, 5, 10), at(15))
    out.update(harness.finish())
    assert out == {(0, 0, 0, 20): 1, (1, 0, 0, 20): 1, (2, 0, 0, 20): 1}


def test_a_row_that_bridges_two_sessions_merges_their_matches() -> None:
    """Left 0 met right 0, left 1 met right 1; the bridge makes left 0 meet right 1, and so on."""
    harness = harness_of(emit=CHANGES)
    assert harness.feed(at(0, 8), at(1, 13), to=0) == {(0, 0, 0, 6): 1, (1, 1, 8, 18): 1}
    assert harness.feed(at(4, first=2), []) == {
        (0, 1, 0, 18): 1,
        (1, 0, 0, 13): 1,
        (2, 0, 0, 13): 1,
        (2, 1, 0, 18): 1,
    }
    assert harness.finish() == {}


def test_a_bridge_over_stored_sessions_is_one_window() -> None:
    harness = harness_of(JoinType.FULL)
    assert harness.feed(at(0, 8), at(13), to=0) == {}
    assert harness.feed(at(4, first=2), [], to=0) == {}
    assert harness.finish() == {(0, 0, 0, 18): 1, (1, 0, 0, 18): 1, (2, 0, 0, 18): 1}


def test_a_bridge_on_one_side_does_not_make_sessions_of_the_other_one() -> None:
    harness = harness_of()
    harness.feed(at(0, 5, 10), at(0, 11), to=0)
    out = harness.finish()
    first = {(number, 0, 0, 15): 1 for number in range(3)}
    assert out == first | {(number, 1, 0, 16): 1 for number in range(3)}


def test_a_chain_of_overlaps_joins_only_those_that_share_a_moment() -> None:
    """Left [0, 5], right [4, 9], left [9, 14], right [13, 18]: the outer two do not meet."""
    harness = harness_of(JoinType.FULL)
    harness.feed(at(0, 9), at(4, 13), to=0)
    assert harness.finish() == {(0, 0, 0, 9): 1, (1, 0, 4, 14): 1, (1, 1, 9, 18): 1}


@EITHER
def test_rows_of_one_time_and_equal_rows_each_count(emit: Emit) -> None:
    harness = harness_of(emit=emit)
    twin = Row(7, 3, A)
    out = harness.feed([twin, twin], at(3, 3))
    out.update(harness.finish())
    assert out == {(7, 0, 3, 8): 2, (7, 1, 3, 8): 2}


def test_keys_that_differ_do_not_match_even_if_their_hashes_do() -> None:
    harness = harness_of(JoinType.FULL)
    harness.hashing = lambda _: 1
    harness.feed(at(0, key=A), at(0, key=B), to=0)
    assert harness.finish() == {(0, None, 0, 5): 1, (None, 0, 0, 5): 1}


@EITHER
def test_a_row_without_a_key_is_a_session_of_its_own(emit: Emit) -> None:
    harness = harness_of(JoinType.LEFT, emit)
    assert harness.feed(at(0, 1, key=NO_KEY), at(0, key=NO_KEY)) == {
        (0, None, 0, 5): 1,
        (1, None, 1, 6): 1,
    }
    counts = harness.last.counts
    assert (counts["left.accepted"], counts["right.missing_key"]) == (2, 1)
    assert harness.finish() == {}


@EITHER
@pytest.mark.parametrize("how", list(JoinType))
def test_a_session_without_a_match_is_emitted_once_it_is_closed(how: JoinType, emit: Emit) -> None:
    harness = harness_of(how, emit)
    assert harness.feed(at(0, 3), at(20), to=8) == {}
    unmatched = {(0, None, 0, 8): 1, (1, None, 0, 8): 1} if how.preserves_left else {}
    assert harness.feed([], [], to=9) == unmatched
    assert harness.last.counts["unmatched"] == len(unmatched)
    assert harness.finish() == ({(None, 0, 20, 25): 1} if how.preserves_right else {})
    assert harness.last.counts["state_rows"] == 0


def test_while_one_input_is_idle_nothing_is_closed() -> None:
    harness = harness_of(JoinType.FULL)
    assert harness.feed(at(0, 100, 200), []) == {}
    assert harness.advance.after == BEGIN_OF_TIME
    assert harness.feed([], at(200)) == {(0, None, 0, 5): 1, (1, None, 100, 105): 1}
    assert harness.finish() == {(2, 0, 200, 205): 1}


def test_semi_a_left_row_is_emitted_once_with_the_match_that_closes_first() -> None:
    harness = harness_of(JoinType.SEMI)
    assert harness.feed(at(0, 5, 10), at(0, 11, 16), to=15) == {}
    first = {(number, None, 0, 15): 1 for number in range(3)}
    assert harness.feed([], [], to=16) == first
    assert harness.finish() == {}
    assert harness.last.counts["matches"] == 3


def test_semi_a_closed_session_waits_for_its_only_match() -> None:
    harness = harness_of(JoinType.SEMI)
    assert harness.feed(at(0), at(4), to=6) == {}
    assert harness.last.counts["left.in_state"] == 1
    assert harness.feed([], [], to=10) == {(0, None, 0, 9): 1}


def test_semi_a_row_is_emitted_at_once_when_its_session_has_a_match() -> None:
    harness = harness_of(JoinType.SEMI, CHANGES)
    assert harness.feed(at(0), []) == {}
    assert harness.feed([], at(4)) == {(0, None, 0, 9): 1}
    assert harness.feed(at(3, first=1), at(5, first=1)) == {(1, None, 0, 10): 1}
    assert harness.last.counts["left.in_state"] == harness.last.counts["right.in_state"] == 0
    assert harness.finish() == {}


@EITHER
def test_anti_rows_of_a_session_with_a_match_are_not_in_state(emit: Emit) -> None:
    harness = harness_of(JoinType.ANTI, emit)
    assert harness.feed(at(0, 20), at(4), to=0) == {}
    assert harness.last.counts["left.in_state"] == 1
    assert harness.feed(at(3, first=2), [], to=0) == {}
    assert harness.last.counts["left.in_state"] == 1
    assert harness.finish() == {(1, None, 20, 25): 1}
    assert (harness.last.counts["matches"], harness.last.counts["unmatched"]) == (0, 1)


@pytest.mark.parametrize(
    ("how", "emit"),
    [(JoinType.ANTI, FINAL), (JoinType.ANTI, CHANGES), (JoinType.SEMI, CHANGES)],
)
def test_a_closed_session_is_not_in_state_where_it_is_enough_that_it_has_a_match(
    how: JoinType, emit: Emit
) -> None:
    harness = harness_of(how, emit)
    harness.feed(at(0, 5, 10), at(0), to=6)
    assert harness.last.counts["state_rows"] == 1  # the left session, without its rows
    out = harness.feed(at(14, first=3), [])  # what it met is gone; that it did is known
    assert out == ({(3, None, 0, 19): 1} if how is JoinType.SEMI else {})
    assert harness.finish() == {}
