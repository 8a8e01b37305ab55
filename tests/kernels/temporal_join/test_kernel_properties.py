"""The temporal join against its definition, for any data, order of arrival, settings and
failures."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.join_harness import Hash, colliding_hash, integer_key, own_hash
from tests.kernels.temporal_join.harness import Harness, frame_of, spec_of
from tests.kernels.temporal_join.oracle import Bag, Join, Row, Stepwise, final_rows

from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.temporal_join.kernel import TemporalJoin
from millstream.temporal import LateAction, LatePolicy, OnLimit, StateLimit
from millstream.values import Direction, JoinType

Batches = list[tuple[list[Row], list[Row]]]
Sides = tuple[list[Row], list[Row]]

HOWS = st.sampled_from([JoinType.INNER, JoinType.LEFT])
BACKWARD = st.builds(
    Join, HOWS, st.just(Direction.BACKWARD), st.one_of(st.none(), st.integers(0, 20))
)
AHEAD = st.builds(
    Join, HOWS, st.sampled_from([Direction.FORWARD, Direction.NEAREST]), st.integers(0, 20)
)
JOINS = {"backward": BACKWARD, "ahead": AHEAD}
HASHES = st.sampled_from([own_hash, colliding_hash])
TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))
ENDS = st.sampled_from([False, False, False, True, None])
BOTH = pytest.mark.parametrize("joins", list(JOINS.values()), ids=list(JOINS))


@st.composite
def sides(draw: st.DrawFn, times: st.SearchStrategy[int] | None = None) -> Sides:
    """Few keys and times, so that versions of one key often have the same time."""
    times = st.integers(-5, 25) if times is None else times
    keys = strategies.keys if draw(st.booleans()) else st.just(("a", 1))
    rows = draw(st.lists(st.tuples(times, keys), max_size=14))
    versions = draw(st.lists(st.tuples(times, keys, ENDS), max_size=18))
    return (
        [Row(number, t, key) for number, (t, key) in enumerate(rows)],
        [Row(number, t, key, ends) for number, (t, key, ends) in enumerate(versions)],
    )


@st.composite
def cut(draw: st.DrawFn, arrived: Sides) -> Batches:
    """Rows in the order they arrived, cut into batches at random."""
    count = draw(st.integers(1, 7))
    batches: Batches = [([], []) for _ in range(count)]
    for number, side in enumerate(arrived):
        places = st.lists(st.integers(0, count - 1), min_size=len(side), max_size=len(side))
        for row, batch in zip(side, sorted(draw(places)), strict=True):
            batches[batch][number].append(row)
    return batches


@st.composite
def in_time(draw: st.DrawFn, rows: Sides) -> tuple[Sides, tuple[int, int]]:
    """An order of arrival in which no row is late, given the delays; and the delays."""
    delays = (draw(st.integers(0, 15)), draw(st.integers(0, 15)))
    arrived: list[list[Row]] = []
    for side, delay in zip(rows, delays, strict=True):
        jitter = draw(st.lists(st.integers(0, delay), min_size=len(side), max_size=len(side)))
        order = sorted(range(len(side)), key=lambda i: side[i].t + jitter[i])
        arrived.append([side[number] for number in order])
    return (arrived[0], arrived[1]), delays


def run_whole(harness: Harness, batches: Batches) -> Bag:
    out: Bag = Counter()
    for rows, versions in batches:
        out.update(harness.feed(rows, versions))
    out.update(harness.finish())
    return out


@BOTH
@given(sides(), st.data(), strategies.log_settings, TROUBLE, HASHES)
def test_any_order_of_rows_in_time_the_same_rows_are_emitted(
    joins: st.SearchStrategy[Join], rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    join = data.draw(joins)
    arrived, delays = data.draw(in_time(rows))
    kernel = TemporalJoin(spec_of(join), Harness.types, settings)
    harness = Harness(kernel, delays, hashing, trouble)
    assert run_whole(harness, data.draw(cut(arrived))) == final_rows(join, *arrived)
    counts = harness.last.counts
    assert counts["left.late"] == counts["right.late"] == counts["left.in_state"] == 0
    again = Harness(kernel, delays, hashing)
    assert run_whole(again, data.draw(cut(arrived))) == final_rows(join, *arrived)
    assert again.last.counts["right.in_state"] == counts["right.in_state"]


def run_stepwise(harness: Harness, oracle: Stepwise, batches: Batches) -> Bag:
    """Compares every batch with the definition: rows out, late rows and rows stored."""
    total: Bag = Counter()
    late = [0, 0]
    for number, (rows, versions) in enumerate([*batches, ([], [])]):
        out = harness.feed(rows, versions, end=number == len(batches))
        assert out == oracle.step(rows, versions, harness.advance)
        total.update(out)
        counts = harness.last.counts
        of_use = oracle.join.of_use(oracle.versions, harness.advance.after)
        assert (counts["left.in_state"], counts["right.in_state"]) == (
            len(oracle.waiting),
            len(of_use),
        )
        for side, name in enumerate(("left", "right")):
            late[side] += len(oracle.late[side])
            assert counts[f"{name}.late"] == late[side]
            if harness.join.spec.late.action is LateAction.SIDE_OUTPUT:
                check_late_rows(oracle.late[side], side, harness)
    return total


def check_late_rows(rows: list[Row], side: int, harness: Harness) -> None:
    found = harness.last.late.get(side)
    if not rows:
        assert found is None
        return
    assert found is not None
    assert found.columns == [*frame_of(rows, side, harness.hashing).columns, "_lateness"]
    lateness = {row.id: harness.advance.before - row.t for row in rows}
    assert dict(found.select("lr"[side] + "_id", "_lateness").rows()) == lateness


@BOTH
@given(sides(), st.data(), strategies.log_settings, TROUBLE, HASHES)
def test_every_batch_emits_exactly_what_is_due(
    joins: st.SearchStrategy[Join], rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    join = data.draw(joins)
    shuffled = (data.draw(st.permutations(rows[0])), data.draw(st.permutations(rows[1])))
    any_order = st.tuples(st.just(shuffled), st.tuples(st.integers(0, 9), st.integers(0, 9)))
    arrived, delays = data.draw(st.one_of(in_time(rows), any_order))
    spec = spec_of(join, late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness = Harness(TemporalJoin(spec, Harness.types, settings), delays, hashing, trouble)
    run_stepwise(harness, Stepwise(join), data.draw(cut(arrived)))


@BOTH
@given(sides(), st.data(), strategies.log_settings, TROUBLE)
def test_an_integer_key_may_stand_for_its_own_hash(
    joins: st.SearchStrategy[Join], rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    join = data.draw(joins)
    plain = tuple([replace(row, key=("a", row.key[1])) for row in side] for side in rows)
    arrived, delays = data.draw(in_time((plain[0], plain[1])))
    spec = replace(spec_of(join), left_keys=("l_k2",), right_keys=("r_k2",), key_is_hash=True)
    harness = Harness(TemporalJoin(spec, Harness.types, settings), delays, integer_key, trouble)
    run_stepwise(harness, Stepwise(join), data.draw(cut(arrived)))


@given(BACKWARD, st.integers(0, 8), st.data(), strategies.log_settings, TROUBLE)
def test_beyond_a_limit_the_oldest_rows_are_evicted_and_none_is_lost(
    join: Join, max_rows: int, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    # One row of each time, so that the oldest is never in doubt.
    rows, _ = data.draw(sides(st.integers(-5, 25).map(lambda t: 2 * t)))
    _, versions = data.draw(sides(st.integers(-5, 25).map(lambda t: 2 * t + 1)))
    rows, versions = (list({row.t: row for row in side}.values()) for side in (rows, versions))
    arrived, delays = data.draw(in_time((rows, versions)))
    spec = spec_of(join, limit=StateLimit(max_rows, on_limit=OnLimit.EVICT))
    harness = Harness(TemporalJoin(spec, Harness.types, settings), delays, trouble=trouble)
    oracle = Stepwise(join, max_rows)
    total = run_stepwise(harness, oracle, data.draw(cut(arrived)))
    assert harness.last.counts["left.evicted"] == len(oracle.evicted[0])
    assert harness.last.counts["right.evicted"] == len(oracle.evicted[1])
    assert harness.last.counts["peak_rows"] <= max_rows
    if join.how is JoinType.LEFT:
        assert {row for row, _ in total} == {row.id for row in rows}


@given(AHEAD, st.integers(0, 8), sides(), st.data(), strategies.log_settings, TROUBLE)
def test_beyond_a_limit_every_row_of_a_left_join_still_is_emitted_once(
    join: Join, max_rows: int, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    join = replace(join, how=JoinType.LEFT)
    arrived, delays = data.draw(in_time(rows))
    spec = spec_of(join, limit=StateLimit(max_rows, on_limit=OnLimit.EVICT))
    harness = Harness(TemporalJoin(spec, Harness.types, settings), delays, trouble=trouble)
    total = run_whole(harness, data.draw(cut(arrived)))
    assert Counter(row for row, _ in total.elements()) == Counter(row.id for row in rows[0])
    assert harness.last.counts["peak_rows"] <= max_rows
