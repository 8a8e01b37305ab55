"""The session join against its definition, for any data, order of arrival, settings and
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
from tests.kernels.session_join.harness import Harness, frame_of, spec_of
from tests.kernels.session_join.oracle import Bag, Join, Row, Stepwise, final_rows

from millstream.kernels.session_join.kernel import SessionJoin
from millstream.kernels.state.compaction import LogSettings
from millstream.temporal import Emit, LateAction, LatePolicy, OnLimit, StateLimit
from millstream.values import JoinType

Batches = list[tuple[list[Row], list[Row]]]
Sides = tuple[list[Row], list[Row]]

HASHES = st.sampled_from([own_hash, colliding_hash])
TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))
JOINS = st.builds(
    Join, strategies.hows, st.integers(0, 8), st.sampled_from(list(Emit)), st.integers(0, 6)
)
KINDS = [
    pytest.param(how, emit, id=f"{how} {emit}") for how in list(JoinType) for emit in list(Emit)
]


@st.composite
def sides(draw: st.DrawFn) -> Sides:
    """Few keys, so that there are many sessions of one."""
    keys = strategies.keys if draw(st.booleans()) else st.sampled_from([("a", 1), ("b", 1)])
    made = []
    for _ in range(2):
        rows = draw(st.lists(st.tuples(st.integers(-5, 40), keys), max_size=16))
        made.append([Row(number, t, key) for number, (t, key) in enumerate(rows)])
    return made[0], made[1]


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


def without_windows(bag: Bag) -> Counter[tuple[int | None, int | None]]:
    out: Counter[tuple[int | None, int | None]] = Counter()
    for row, count in bag.items():
        out[row[:2]] += count
    return out


def run_whole(harness: Harness, batches: Batches) -> Bag:
    out: Bag = Counter()
    for lefts, rights in batches:
        out.update(harness.feed(lefts, rights))
    out.update(harness.finish())
    return out


@pytest.mark.parametrize(("how", "emit"), KINDS)
@given(sides(), st.data(), strategies.log_settings, TROUBLE, HASHES)
def test_any_order_of_rows_in_time_the_same_rows_are_emitted(
    how: JoinType, emit: Emit, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    join = Join(how, data.draw(st.integers(0, 8)), emit, data.draw(st.integers(0, 6)))
    arrived, delays = data.draw(in_time(rows))
    harness = Harness(SessionJoin(spec_of(join), Harness.types, settings), delays, hashing, trouble)
    came, wanted = run_whole(harness, data.draw(cut(arrived))), final_rows(join, *arrived)
    if emit is Emit.FINAL:
        assert came == wanted
    else:  # the window is output as far as it is known
        assert without_windows(came) == without_windows(wanted)
    counts = harness.last.counts
    assert counts["left.late"] == counts["right.late"] == 0
    assert counts["state_rows"] == counts["left.in_state"] == counts["right.in_state"] == 0


def run_stepwise(harness: Harness, oracle: Stepwise, batches: Batches) -> None:
    """Compares every batch with the definition: rows out, late rows and rows stored."""
    late = [0, 0]
    for number, (lefts, rights) in enumerate([*batches, ([], [])]):
        out = harness.feed(lefts, rights, end=number == len(batches))
        assert out == oracle.step(lefts, rights, harness.advance)
        counts = harness.last.counts
        assert (counts["left.in_state"], counts["right.in_state"]) == (
            oracle.stored(0),
            oracle.stored(1),
        )
        sessions = sum(map(len, oracle.sessions))
        assert counts["state_rows"] == sessions + counts["left.in_state"] + counts["right.in_state"]
        for side, name in enumerate(("left", "right")):
            late[side] += len(oracle.late[side])
            assert counts[f"{name}.late"] == late[side]
            if harness.join.spec.late.action is LateAction.SIDE_OUTPUT:
                check_late_rows(oracle.late[side], side, harness)


def check_late_rows(rows: list[Row], side: int, harness: Harness) -> None:
    found = harness.last.late.get(side)
    if not rows:
        assert found is None
        return
    assert found is not None
    assert found.columns == [*frame_of(rows, side, harness.hashing).columns, "_lateness"]
    lateness = {row.id: harness.advance.before - row.t for row in rows}
    assert dict(found.select("lr"[side] + "_id", "_lateness").rows()) == lateness


@given(JOINS, sides(), st.data(), strategies.log_settings, TROUBLE, HASHES)
def test_every_batch_emits_exactly_what_is_due(
    join: Join, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    shuffled = (data.draw(st.permutations(rows[0])), data.draw(st.permutations(rows[1])))
    any_order = st.tuples(st.just(shuffled), st.tuples(st.integers(0, 9), st.integers(0, 9)))
    arrived, delays = data.draw(st.one_of(in_time(rows), any_order))
    spec = spec_of(join, late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness = Harness(SessionJoin(spec, Harness.types, settings), delays, hashing, trouble)
    run_stepwise(harness, Stepwise(join), data.draw(cut(arrived)))


@given(JOINS, sides(), st.data(), strategies.log_settings, TROUBLE)
def test_an_integer_key_may_stand_for_its_own_hash(
    join: Join, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    plain = tuple([replace(row, key=("a", row.key[1])) for row in side] for side in rows)
    arrived, delays = data.draw(in_time((plain[0], plain[1])))
    keys = data.draw(st.sampled_from([(("l_k2",), ("r_k2",)), (("_h",), ("_h",))]))
    spec = replace(spec_of(join), left_keys=keys[0], right_keys=keys[1], key_is_hash=True)
    harness = Harness(SessionJoin(spec, Harness.types, settings), delays, integer_key, trouble)
    run_stepwise(harness, Stepwise(join), data.draw(cut(arrived)))


@given(JOINS, st.integers(0, 12), sides(), st.data(), strategies.log_settings, TROUBLE)
def test_beyond_a_limit_sessions_close_early_and_no_row_is_lost(
    join: Join, max_rows: int, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    arrived, delays = data.draw(in_time(rows))
    spec = spec_of(join, limit=StateLimit(max_rows, on_limit=OnLimit.EVICT))
    harness = Harness(SessionJoin(spec, Harness.types, settings), delays, trouble=trouble)
    output = without_windows(run_whole(harness, data.draw(cut(arrived))))
    assert set(output.values()) <= {1}
    assert harness.last.counts["peak_rows"] <= max_rows
    assert harness.last.counts["state_rows"] == 0
    true = without_windows(final_rows(join, *arrived))
    if join.how not in (JoinType.ANTI, JoinType.SEMI):
        assert {pair for pair in output if None not in pair} <= set(true)
    for side, keeps in enumerate((join.how.preserves_left, join.how.preserves_right)):
        if keeps and join.how is not JoinType.ANTI:
            ids = {row[side] for row in output if row[side] is not None}
            assert ids == {row.id for row in rows[side]}
            unmatched = {row[side] for row in output if row[1 - side] is None}
            paired = {row[side] for row in output if row[1 - side] is not None}
            assert not unmatched & paired
