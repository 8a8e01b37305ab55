from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.aggregate.harness import AggregateHarness, frame_of, types_of
from tests.kernels.aggregate.oracle import Row, final_table
from tests.kernels.strategies import log_settings

from millstream.kernels.aggregate.kernel import create_kernel
from millstream.kernels.aggregate.session import fold
from millstream.kernels.core.kernel import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.temporal import Emit, LateAction, LatePolicy, Window, WindowKind

GAP = Window(WindowKind.SESSION, 5)
COUNT_AND_SUM = (CallSpec("count", "a0"), CallSpec("sum", "a1", "x"))
FINAL = AggregateSpec(("k1",), COUNT_AND_SUM, GAP)
CHANGES = replace(FINAL, emit=Emit.CHANGES)


def harness(
    spec: AggregateSpec, delay: int = 0, settings: LogSettings | None = None
) -> AggregateHarness:
    return AggregateHarness(create_kernel(spec, types_of(spec), settings), delay)


def row(t: int, x: int | None = 1, key: str | None = "a") -> Row:
    return Row(0, t, (key,), x=x)


def test_rows_no_more_than_a_gap_apart_are_one_session() -> None:
    run = harness(FINAL, delay=100)
    run.feed([row(0), row(5), row(11), row(13)])
    assert sorted(run.feed([], end=True)) == [
        (INSERT, ("a",), (0, 10), (2, 2)),
        (INSERT, ("a",), (11, 18), (2, 2)),
    ]


def test_a_session_is_open_until_the_watermark_has_passed_its_end() -> None:
    run = harness(FINAL)
    assert run.feed([row(0), row(5, key="b")]) == []
    assert run.feed([row(5)]) == []
    assert run.feed([row(10, key="b")]) == []
    assert run.feed([row(11, key="b")]) == [(INSERT, ("a",), (0, 10), (2, 2))]


def test_a_row_that_bridges_two_sessions_makes_them_one() -> None:
    run = harness(CHANGES, delay=100)
    run.feed([row(0)])
    run.feed([row(8)])
    assert sorted(run.feed([row(4)])) == [
        (INSERT, ("a",), (0, 13), (3, 3)),
        (DELETE, ("a",), (0, 5), (1, 1)),
        (DELETE, ("a",), (8, 13), (1, 1)),
    ]


def test_a_row_within_a_session_changes_it_and_keeps_its_bounds() -> None:
    run = harness(CHANGES, delay=100)
    run.feed([row(0), row(4)])
    assert run.feed([row(2, 7)]) == [
        (UPDATE_BEFORE, ("a",), (0, 9), (2, 2)),
        (UPDATE_AFTER, ("a",), (0, 9), (3, 9)),
    ]


def test_many_sessions_are_merged_at_once_by_a_chain_of_late_rows() -> None:
    run = harness(CHANGES, delay=1000)
    run.feed([row(t) for t in range(0, 200, 10)][::-1])
    assert run.last.counts["state_rows"] == 20
    out = run.feed([row(t) for t in range(5, 195, 10)])
    assert [one for one in out if one[0] == INSERT] == [(INSERT, ("a",), (0, 195), (39, 39))]
    assert sum(one[0] == DELETE for one in out) == 20
    assert run.last.counts["state_rows"] == 1


def test_a_fired_session_that_grows_is_retracted_and_fires_again() -> None:
    run = harness(replace(FINAL, lateness=50))
    assert run.feed([row(0), row(20, key="b")]) == [(INSERT, ("a",), (0, 5), (1, 1))]
    assert run.feed([row(3)]) == [
        (DELETE, ("a",), (0, 5), (1, 1)),
        (INSERT, ("a",), (0, 8), (2, 2)),
    ]
    assert run.feed([row(1)]) == [
        (UPDATE_BEFORE, ("a",), (0, 8), (2, 2)),
        (UPDATE_AFTER, ("a",), (0, 8), (3, 3)),
    ]
    assert run.feed([row(7), row(11), row(15), row(19)]) == [(DELETE, ("a",), (0, 8), (3, 3))]
    assert (INSERT, ("a",), (0, 24), (7, 7)) in run.feed([], end=True)


def test_a_late_row_that_an_open_session_takes_in_is_not_late() -> None:
    run = harness(replace(FINAL, late=LatePolicy(LateAction.SIDE_OUTPUT)))
    run.feed([row(10), row(13)])
    run.feed([row(9), row(1)])
    assert run.last.counts["input.late"] == 1
    late = run.last.late[0]
    assert late.select("_t", "_lateness").rows() == [(1, 12)]
    assert run.feed([], end=True) == [(INSERT, ("a",), (9, 18), (3, 3))]


def test_a_late_row_reassigned_joins_the_session_there() -> None:
    run = harness(replace(FINAL, late=LatePolicy(LateAction.REASSIGN, budget=20)))
    run.feed([row(20)])
    assert run.feed([row(1), row(14)], end=True) == [(INSERT, ("a",), (20, 25), (3, 3))]
    assert run.last.counts["input.reassigned"] == 2


def test_rows_of_a_chunk_are_folded_into_fragments() -> None:
    frame = fold(FINAL, frame_of(FINAL, [row(10), row(0), row(4), row(9, key="b")]))
    found = frame.select("k1", "_ws", "_t", "_n").sort("k1", "_ws").rows()
    assert found == [("a", 0, 9, 2), ("a", 10, 15, 1), ("b", 9, 14, 1)]


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
    st.sampled_from(list(Emit)),
    st.booleans(),
    log_settings,
)
def test_in_whatever_order_rows_arrive_the_sessions_are_those_of_their_times(
    times: list[int], shuffle: random.Random, emit: Emit, colliding: bool, settings: LogSettings
) -> None:
    """One row a batch, and the ends before the middle: sessions cascade into one another."""
    rows = [row(t, key="ab"[t % 2]) for t in times]
    shuffle.shuffle(rows)
    run = harness(replace(FINAL, emit=emit, lateness=1000), settings=settings)
    run.colliding = colliding
    out = [one for single in rows for one in run.feed([single])] + run.feed([], end=True)
    expected = {}
    for key in "ab":
        chain: list[int] = []
        for t in [*sorted(r.t for r in rows if r.key == (key,)), 10**6]:
            if chain and t - chain[-1] > GAP.size:
                span = (chain[0], chain[-1] + GAP.size)
                expected[(key,), span] = (len(chain), len(chain))
                chain = []
            chain.append(t)
    assert final_table(out) == expected


@pytest.mark.parametrize("emit", list(Emit))
def test_many_fragments_among_many_sessions_take_each_in_once(
    emit: Emit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few pairs are made at a time, and with sessions between that none of them touches."""
    monkeypatch.setattr("millstream.kernels.core.key_index.MAX_PAIRS", 7)
    run = harness(replace(FINAL, emit=emit), delay=10**6)
    out = run.feed([row(20 * n) for n in range(40)])
    out += run.feed([row(20 * n + shift) for n in range(1, 30, 3) for shift in (-4, 4)])
    out += run.feed([], end=True)
    touched = set(range(1, 30, 3))
    assert final_table(out) == {
        (("a",), (20 * n - 4, 20 * n + 9) if n in touched else (20 * n, 20 * n + 5)): (
            (3, 3) if n in touched else (1, 1)
        )
        for n in range(40)
    }
