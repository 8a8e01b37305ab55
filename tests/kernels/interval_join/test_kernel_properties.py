"""The interval join against its definition, for any data, order of arrival, settings and
failures."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.interval_join import harness
from tests.kernels.interval_join.harness import Harness, frame_of
from tests.kernels.interval_join.oracle import Bag, Join, Row, Stepwise, final_rows
from tests.kernels.join_harness import Hash, colliding_hash, integer_key, own_hash
from tests.kernels.strategies import Arrival

from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.scalars import Predicate
from millstream.temporal import LateAction, LatePolicy, OnLimit, StateLimit
from millstream.values import JoinType

SIDES = st.tuples(strategies.rows(), strategies.rows())
TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))
HASHES = st.sampled_from([own_hash, colliding_hash])
RETENTION = st.sampled_from([None, 0, 9, 40])


def spec_of(join: Join, across: Predicate | None = None, **more: object) -> IntervalJoinSpec:
    return IntervalJoinSpec(
        join.how, join.lower, join.upper, *harness.KEYS, harness.LEFT_COLUMNS,
        harness.RIGHT_COLUMNS,
        pair_predicate=across, retention=join.retention, **more,  # type: ignore[arg-type]
    )  # fmt: skip


@given(
    strategies.hows, strategies.bounds, SIDES, st.data(), strategies.log_settings, TROUBLE, HASHES,
    RETENTION,
)  # fmt: skip
def test_any_order_of_rows_in_time_the_same_rows_are_emitted(
    how: JoinType, bounds: tuple[int, int], sides: tuple[list[Row], list[Row]], data: st.DataObject,
    settings: LogSettings, trouble: random.Random | None, hashing: Hash, retention: int | None,
) -> None:  # fmt: skip
    join = Join(how, *bounds, retention=retention)
    arrival = data.draw(strategies.in_time(sides))
    run = Harness(IntervalJoin(spec_of(join), settings=settings), arrival.delays, hashing, trouble)
    out: Bag = Counter()
    for lefts, rights in arrival.batches:
        out.update(run.feed(lefts, rights))
    out.update(run.finish())
    assert out == final_rows(join, *sides)
    assert run.last.counts["state_rows"] == 0
    assert not run.state.map("segments").content
    assert run.last.counts["left.late"] == run.last.counts["right.late"] == 0


def run_stepwise(
    join: Join, arrival: Arrival, run: Harness, max_rows: int | None = None
) -> tuple[Stepwise, Bag]:
    """Compares every batch with the definition: rows out, late rows and rows stored."""
    oracle, total = Stepwise(join, max_rows), Counter[tuple[int | None, ...]]()
    late = [0, 0]
    for number, (lefts, rights) in enumerate([*arrival.batches, ([], [])]):
        out = run.feed(lefts, rights, end=number == len(arrival.batches))
        assert out == oracle.step(lefts, rights, run.advance)
        total.update(out)
        for side, name in enumerate(("left", "right")):
            late[side] += len(oracle.late[side])
            assert run.last.counts[f"{name}.late"] == late[side]
            assert run.last.counts[f"{name}.in_state"] == len(oracle.stored(side, run.advance))
            if run.join.spec.late.action is LateAction.SIDE_OUTPUT:
                check_late_rows(oracle.late[side], side, run)
    return oracle, total


def check_late_rows(rows: list[Row], side: int, run: Harness) -> None:
    found = run.last.late.get(side)
    if not rows:
        assert found is None
        return
    assert found is not None
    expected = frame_of(rows, side, run.hashing)
    assert found.columns == [*expected.columns, "_lateness"]
    name = "lr"[side] + "_id"
    lateness = {row.id: run.advance.before - row.t for row in rows}
    assert dict(found.select(name, "_lateness").rows()) == lateness


@given(
    strategies.hows, strategies.bounds, SIDES, st.data(), strategies.log_settings, TROUBLE, HASHES,
    RETENTION,
)  # fmt: skip
def test_every_batch_emits_exactly_what_is_due(
    how: JoinType, bounds: tuple[int, int], sides: tuple[list[Row], list[Row]], data: st.DataObject,
    settings: LogSettings, trouble: random.Random | None, hashing: Hash, retention: int | None,
) -> None:  # fmt: skip
    join = Join(how, *bounds, retention=retention)
    arrival = data.draw(st.one_of(strategies.any_order(sides), strategies.in_time(sides)))
    spec = spec_of(join, late=LatePolicy(LateAction.SIDE_OUTPUT))
    run = Harness(IntervalJoin(spec, settings=settings), arrival.delays, hashing, trouble)
    run_stepwise(join, arrival, run)


@given(strategies.hows, strategies.bounds, SIDES, st.data(), strategies.predicates, TROUBLE, HASHES)
def test_a_predicate_across_the_sides_decides_matching_in_three_valued_logic(
    how: JoinType, bounds: tuple[int, int], sides: tuple[list[Row], list[Row]], data: st.DataObject,
    across: Predicate, trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    join = Join(
        how, *bounds, across=lambda left, right: strategies.holds(across, left, right) is True
    )
    arrival = data.draw(strategies.any_order(sides))
    run = Harness(IntervalJoin(spec_of(join, across)), arrival.delays, hashing, trouble)
    run_stepwise(join, arrival, run)


@given(strategies.hows, strategies.bounds, SIDES, st.data(), strategies.log_settings, TROUBLE)
def test_an_integer_key_may_stand_for_its_own_hash(
    how: JoinType, bounds: tuple[int, int], sides: tuple[list[Row], list[Row]], data: st.DataObject,
    settings: LogSettings, trouble: random.Random | None,
) -> None:  # fmt: skip
    lefts, rights = ([replace(row, key=("a", row.key[1])) for row in side] for side in sides)
    join = Join(how, *bounds)
    arrival = data.draw(strategies.any_order((lefts, rights)))
    spec = IntervalJoinSpec(
        how, *bounds, ("l_k2",), ("r_k2",), ("l_k2", "l_id"), ("r_id",), key_is_hash=True
    )
    kernel = IntervalJoin(spec, settings=settings)
    run = Harness(kernel, arrival.delays, integer_key, trouble)
    run_stepwise(join, arrival, run)


@given(
    strategies.hows, strategies.bounds, st.integers(0, 8), st.data(), strategies.log_settings,
    TROUBLE, RETENTION,
)  # fmt: skip
def test_beyond_a_limit_the_oldest_rows_are_evicted_and_none_is_lost(
    how: JoinType, bounds: tuple[int, int], max_rows: int, data: st.DataObject,
    settings: LogSettings, trouble: random.Random | None, retention: int | None,
) -> None:  # fmt: skip
    lefts = data.draw(strategies.rows(times=st.integers(-5, 25).map(lambda t: 2 * t)))
    rights = data.draw(strategies.rows(times=st.integers(-5, 25).map(lambda t: 2 * t + 1)))
    # One row of each time, so that the oldest is never in doubt.
    lefts, rights = (list({row.t: row for row in side}.values()) for side in (lefts, rights))
    join = Join(how, *bounds, retention=retention)
    arrival = data.draw(strategies.in_time((lefts, rights)))
    spec = spec_of(join, limit=StateLimit(max_rows, on_limit=OnLimit.EVICT))
    run = Harness(IntervalJoin(spec, settings=settings), arrival.delays, trouble=trouble)
    oracle, total = run_stepwise(join, arrival, run, max_rows)
    for side, name in enumerate(("left", "right")):
        assert run.last.counts[f"{name}.evicted"] == len(oracle.evicted[side])
    if how in {JoinType.LEFT, JoinType.FULL}:
        assert {out[0] for out in total} - {None} == {row.id for row in lefts}
    assert run.last.counts["peak_rows"] <= max_rows
