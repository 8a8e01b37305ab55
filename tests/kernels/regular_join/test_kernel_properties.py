"""The regular join against its definition, for any data, order of arrival, settings and
failures."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.interval_join import oracle
from tests.kernels.join_harness import Hash, colliding_hash, integer_key, own_hash
from tests.kernels.regular_join.harness import Harness, frame_of, spec_of
from tests.kernels.regular_join.oracle import (
    Change,
    Join,
    Row,
    Stepwise,
    Weights,
    left_over,
    table,
)

from millstream.kernels.core.predicate import columns_of
from millstream.kernels.regular_join import retractions as regular_join_back
from millstream.kernels.regular_join.kernel import RegularJoin
from millstream.kernels.state.compaction import LogSettings
from millstream.scalars import Predicate
from millstream.temporal import LateAction, LatePolicy, OnLimit, StateLimit

Batches = list[tuple[list[Change], list[Change]]]
Sides = tuple[list[Change], list[Change]]

JOINS = st.builds(Join, strategies.hows)
EXPIRING = st.builds(Join, strategies.hows, st.integers(0, 25))
HASHES = st.sampled_from([own_hash, colliding_hash])
TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))
CHANGING = st.tuples(st.booleans(), st.booleans())


@st.composite
def changes(draw: st.DrawFn, retracts: bool, strict: bool = True) -> list[Change]:
    """Few rows, so that many are equal. If it is `strict`, only what came is retracted."""
    keys = strategies.keys if draw(st.booleans()) else st.just(("a", 1))
    rows = draw(
        st.lists(
            st.builds(Row, st.integers(0, 3), keys, strategies.numbers), min_size=1, max_size=6
        )
    )
    found: list[Change] = []
    there: Counter[Row] = Counter()
    when = st.integers(-5, 30)
    for row, t, back in draw(
        st.lists(st.tuples(st.sampled_from(rows), when, st.booleans()), max_size=16)
    ):
        weight = -1 if back and retracts and (there[row] or not strict) else 1
        there[row] += weight
        found.append(Change(row, t, weight))
    return found


@st.composite
def cut(draw: st.DrawFn, arrived: Sides) -> Batches:
    """Changes in the order they arrived, cut into batches at random."""
    count = draw(st.integers(1, 7))
    batches: Batches = [([], []) for _ in range(count)]
    for number, side in enumerate(arrived):
        places = st.lists(st.integers(0, count - 1), min_size=len(side), max_size=len(side))
        for change, batch in zip(side, sorted(draw(places)), strict=True):
            batches[batch][number].append(change)
    return batches


@st.composite
def sides(
    draw: st.DrawFn,
    join: Join,
    over_changes: tuple[bool, bool],
    across: Predicate | None = None,
    strict: bool = True,
) -> Sides:
    lefts, rights = (draw(changes(retracts, strict)) for retracts in over_changes)
    if join.how.left_only:  # of the right side only what is compared is stored
        rights = [replace(c, row=_compared(c.row, set(columns_of(across)))) for c in rights]
    return lefts, rights


def _compared(row: Row, requested: set[str]) -> Row:
    return Row(row.id if "r_id" in requested else 0, row.key, row.x if "r_x" in requested else None)


def add(total: Weights, out: Weights) -> None:
    for row, weight in out.items():
        total[row] += weight


def matching(across: Predicate | None, join: Join) -> Join:
    if across is None:
        return join

    def holds(left: Row, right: Row) -> bool:
        one, two = (oracle.Row(row.id, 0, row.key, row.x) for row in (left, right))
        return strategies.holds(across, one, two) is True

    return replace(join, across=holds)


ACROSS = st.one_of(st.none(), strategies.predicates)


@given(
    JOINS, CHANGING, st.data(), ACROSS, strategies.log_settings, TROUBLE, HASHES,
)  # fmt: skip
def test_after_every_batch_the_output_is_the_join_of_the_input(
    join: Join, over_changes: tuple[bool, bool], data: st.DataObject, across: Predicate | None,
    settings: LogSettings, trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    join = matching(across, join)
    kernel = RegularJoin(spec_of(join, over_changes, across), Harness.types, settings)
    harness = Harness(kernel, (0, 0), hashing, trouble)
    seen: Sides = ([], [])
    total: Weights = Counter()
    for batch in data.draw(cut(data.draw(sides(join, over_changes, across)))):
        add(total, harness.feed(*batch))
        for known, new in zip(seen, batch, strict=True):
            known.extend(new)
        expected = table(join, left_over(seen[0]), left_over(seen[1]))
        assert {row: weight for row, weight in total.items() if weight} == expected
    counts = harness.last.counts
    assert counts["left.late"] == counts["right.late"] == 0
    assert counts["left.ignored"] == counts["right.ignored"] == 0


def run_stepwise(harness: Harness, oracle: Stepwise, batches: Batches) -> None:
    """Compares every batch with the definition: what is output, late, ignored and stored."""
    late = [0, 0]
    for number, (lefts, rights) in enumerate([*batches, ([], [])]):
        out = harness.feed(lefts, rights, end=number == len(batches))
        assert out == oracle.step(lefts, rights, harness.advance)
        counts = harness.last.counts
        for side, name in enumerate(("left", "right")):
            late[side] += len(oracle.late[side])
            assert counts[f"{name}.late"] == late[side]
            assert counts[f"{name}.ignored"] == oracle.ignored[side]
            assert counts[f"{name}.evicted"] == oracle.evicted[side]
            assert counts[f"{name}.in_state"] == len(stored_of(harness, oracle, side))
            if harness.join.spec.late.action is LateAction.SIDE_OUTPUT:
                check_late_rows(oracle.late[side], side, harness)


def stored_of(harness: Harness, oracle: Stepwise, side: int) -> list[Row]:
    """Of rows that stay, SEMI and ANTI are done with those that had a match."""
    spec = harness.join.spec
    done_with = spec.how.left_only and side == 0 and not any(spec.over_changes)
    return [
        retained.row for retained in oracle.stored[side] if not (done_with and retained.match_count)
    ]


def check_late_rows(rows: list[Change], side: int, harness: Harness) -> None:
    found = harness.last.late.get(side)
    if not rows:
        assert found is None
        return
    assert found is not None
    retracts = harness.join.spec.over_changes[side]
    assert found.columns == [*frame_of(rows, side, harness.hashing, retracts).columns, "_lateness"]
    lateness = Counter((change.row.id, harness.advance.before - change.t) for change in rows)
    assert Counter(found.select("lr"[side] + "_id", "_lateness").rows()) == lateness


@pytest.fixture(params=[regular_join_back.FEW_ROWS_OF_KEY, -1000], ids=["by key", "by content"])
def search(request, monkeypatch):
    """How rows that are retracted are looked for: the second is for keys with many rows."""
    monkeypatch.setattr(regular_join_back, "FEW_ROWS_OF_KEY", request.param)


@pytest.mark.usefixtures("search")
@given(
    st.one_of(JOINS, EXPIRING), CHANGING, st.data(), ACROSS, strategies.log_settings, TROUBLE,
    HASHES, st.tuples(st.integers(0, 9), st.integers(0, 9)),
)  # fmt: skip
def test_every_batch_emits_what_changes(
    join: Join, over_changes: tuple[bool, bool], data: st.DataObject, across: Predicate | None,
    settings: LogSettings, trouble: random.Random | None, hashing: Hash, delays: tuple[int, int],
) -> None:  # fmt: skip
    join = matching(across, join)
    spec = spec_of(join, over_changes, across, late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness = Harness(RegularJoin(spec, Harness.types, settings), delays, hashing, trouble)
    arrived = data.draw(sides(join, over_changes, across, strict=False))
    run_stepwise(harness, Stepwise(join), data.draw(cut(arrived)))


@given(
    st.one_of(JOINS, EXPIRING), CHANGING, st.data(), strategies.log_settings, TROUBLE,
)  # fmt: skip
def test_an_integer_key_may_stand_for_its_own_hash(
    join: Join, over_changes: tuple[bool, bool], data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    lefts, rights = (
        [replace(c, row=replace(c.row, key=("a", c.row.key[1]))) for c in side]
        for side in data.draw(sides(join, over_changes, strict=False))
    )
    spec = replace(
        spec_of(join, over_changes), left_keys=("l_k2",), right_keys=("r_k2",), key_is_hash=True,
    )  # fmt: skip
    harness = Harness(RegularJoin(spec, Harness.types, settings), (0, 0), integer_key, trouble)
    run_stepwise(harness, Stepwise(join), data.draw(cut((lefts, rights))))


@given(
    st.one_of(JOINS, EXPIRING), CHANGING, st.integers(0, 8), st.data(), strategies.log_settings,
    TROUBLE,
)  # fmt: skip
def test_beyond_a_limit_the_oldest_rows_are_evicted(
    join: Join, over_changes: tuple[bool, bool], max_rows: int, data: st.DataObject,
    settings: LogSettings, trouble: random.Random | None,
) -> None:  # fmt: skip
    # One row of each time, so that the oldest is never in doubt; SEMI and ANTI hold fewer rows.
    both = data.draw(sides(join, over_changes, strict=False))
    lefts, rights = (
        [replace(change, t=2 * number + side) for number, change in enumerate(changed)]
        for side, changed in enumerate(both)
    )
    if join.how.left_only:
        over_changes = (over_changes[0], True)
    spec = spec_of(join, over_changes, limit=StateLimit(max_rows, on_limit=OnLimit.EVICT))
    harness = Harness(RegularJoin(spec, Harness.types, settings), trouble=trouble)
    run_stepwise(harness, Stepwise(join, max_rows), data.draw(cut((lefts, rights))))
    assert harness.last.counts["peak_rows"] <= max_rows
