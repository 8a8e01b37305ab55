"""Session joins with predicates over pairs of rows, against their definition."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.join_harness import Hash, integer_key
from tests.kernels.session_join.harness import FINAL, Harness, at, spec_of
from tests.kernels.session_join.oracle import Join, Row
from tests.kernels.session_join.predicate_oracle import (
    Matches,
    StepwiseWithPredicate,
    final_rows,
)
from tests.kernels.session_join.test_kernel_properties import (
    HASHES,
    TROUBLE,
    Sides,
    cut,
    in_time,
    run_stepwise,
    run_whole,
    sides,
    without_windows,
)

from millstream.kernels.session_join.kernel import SessionJoin
from millstream.kernels.state.compaction import LogSettings
from millstream.scalars import (
    Arithmetic,
    Case,
    Compare,
    Constant,
    IsNull,
    Logic,
    Operand,
    Predicate,
    ScalarType,
)
from millstream.temporal import LateAction, LatePolicy, OnLimit, StateLimit
from millstream.values import JoinType

BIGINT, BOOLEAN = ScalarType.BIGINT, ScalarType.BOOLEAN
LEFT, RIGHT = Operand("l_id", 0, BIGINT), Operand("r_id", 1, BIGINT)
OUTER = [how for how in JoinType if how is not JoinType.INNER]
Example = tuple[Predicate, Matches]


def number(value: int) -> Constant:
    return Constant(value, BIGINT)


def null_if(value: Operand[str], equal: int) -> Case[str]:
    """A value that is NULL for some rows."""
    condition: Predicate = Compare(value, "=", number(equal))
    return Case(((condition, Constant(None, BIGINT)),), value, BIGINT)


def sum_is_greater(bound: int) -> Example:
    total = Arithmetic(LEFT, "+", RIGHT, BIGINT)
    return Compare(total, ">", number(bound)), lambda one, two: one + two > bound


def right_is_missing_or_less(equal: int) -> Example:
    missing = IsNull(null_if(RIGHT, equal))
    greater: Predicate = Compare(LEFT, ">", RIGHT)
    found: Predicate = Logic("or", (missing, greater))
    return found, lambda one, two: two == equal or one > two


def unknown_for_some(equal: int) -> Example:
    equals: Predicate = Compare(null_if(LEFT, equal), "=", RIGHT)
    found: Predicate = Logic("not", (equals,))
    return found, lambda one, two: None if one == equal else one != two


def compares_columns(_: int) -> Example:
    return Compare("l_id", "<=", "r_id"), lambda one, two: one <= two


def reads_one_side(bound: int) -> Example:
    return Compare(RIGHT, ">", number(bound)), lambda _, two: two > bound


def constant(value: int) -> Example:
    true = (True, False, None)[value % 3]
    return Constant(true, BOOLEAN), lambda _, __: true


KINDS: list[Callable[[int], Example]] = [
    sum_is_greater,
    right_is_missing_or_less,
    unknown_for_some,
    compares_columns,
    reads_one_side,
    constant,
]


def both(one: Example, other: Example) -> Example:
    """AND in three-valued logic."""

    def matches(left: int, right: int) -> bool | None:
        values = (one[1](left, right), other[1](left, right))
        return False if False in values else None if None in values else True

    return Logic("and", (one[0], other[0])), matches


def neither(one: Example, other: Example) -> Example:
    """NOT (a OR b) in three-valued logic."""

    def matches(left: int, right: int) -> bool | None:
        values = (one[1](left, right), other[1](left, right))
        return False if True in values else None if None in values else True

    return Logic("not", (Logic("or", (one[0], other[0])),)), matches


SIMPLE = st.builds(lambda make, value: make(value), st.sampled_from(KINDS), st.integers(0, 15))
PREDICATES = st.recursive(
    SIMPLE,
    lambda parts: st.builds(both, parts, parts) | st.builds(neither, parts, parts),
    max_leaves=4,
)
JOINS = st.builds(
    Join, st.sampled_from(OUTER), st.integers(0, 8), st.just(FINAL), st.integers(0, 6)
)


@pytest.mark.parametrize("how", OUTER)
@given(PREDICATES, sides(), st.data(), strategies.log_settings, TROUBLE, HASHES)
def test_any_order_of_rows_in_time_the_same_rows_are_emitted(
    how: JoinType, case: Example, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    join = Join(how, data.draw(st.integers(0, 8)), FINAL, data.draw(st.integers(0, 6)))
    arrived, delays = data.draw(in_time(rows))
    spec = spec_of(join, pair_predicate=case[0])
    harness = Harness(SessionJoin(spec, Harness.types, settings), delays, hashing, trouble)
    assert run_whole(harness, data.draw(cut(arrived))) == final_rows(join, case[1], *arrived)
    counts = harness.last.counts
    assert counts["state_rows"] == counts["left.in_state"] == counts["right.in_state"] == 0


@given(JOINS, PREDICATES, sides(), st.data(), strategies.log_settings, TROUBLE, HASHES)
def test_every_batch_emits_exactly_what_is_due(
    join: Join, case: Example, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None, hashing: Hash,
) -> None:  # fmt: skip
    shuffled = (data.draw(st.permutations(rows[0])), data.draw(st.permutations(rows[1])))
    any_order = st.tuples(st.just(shuffled), st.tuples(st.integers(0, 9), st.integers(0, 9)))
    arrived, delays = data.draw(st.one_of(in_time(rows), any_order))
    spec = spec_of(join, pair_predicate=case[0], late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness = Harness(SessionJoin(spec, Harness.types, settings), delays, hashing, trouble)
    oracle = StepwiseWithPredicate(join, matches=case[1])
    run_stepwise(harness, oracle, data.draw(cut(arrived)))


@given(JOINS, PREDICATES, sides(), st.data(), strategies.log_settings, TROUBLE)
def test_an_integer_key_may_stand_for_its_own_hash(
    join: Join, case: Example, rows: Sides, data: st.DataObject, settings: LogSettings,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    plain = tuple([replace(row, key=("a", row.key[1])) for row in side] for side in rows)
    arrived, delays = data.draw(in_time((plain[0], plain[1])))
    keys = data.draw(st.sampled_from([(("l_k2",), ("r_k2",)), (("_h",), ("_h",))]))
    spec = spec_of(join, pair_predicate=case[0], key_is_hash=True)
    spec = replace(spec, left_keys=keys[0], right_keys=keys[1])
    harness = Harness(SessionJoin(spec, Harness.types, settings), delays, integer_key, trouble)
    oracle = StepwiseWithPredicate(join, matches=case[1])
    run_stepwise(harness, oracle, data.draw(cut(arrived)))


@given(JOINS, PREDICATES, st.integers(0, 12), sides(), st.data(), TROUBLE)
def test_beyond_a_limit_no_row_is_lost_and_none_is_emitted_twice(
    join: Join, case: Example, max_rows: int, rows: Sides, data: st.DataObject,
    trouble: random.Random | None,
) -> None:  # fmt: skip
    arrived, delays = data.draw(in_time(rows))
    limit = StateLimit(max_rows, on_limit=OnLimit.EVICT)
    spec = spec_of(join, pair_predicate=case[0], limit=limit)
    harness = Harness(SessionJoin(spec, Harness.types), delays, trouble=trouble)
    output = without_windows(run_whole(harness, data.draw(cut(arrived))))
    assert set(output.values()) <= {1}
    assert harness.last.counts["state_rows"] == 0
    true = without_windows(final_rows(join, case[1], *arrived))
    if join.how.left_only:
        return
    assert {pair for pair in output if None not in pair} <= set(true)
    for side, keeps in enumerate((join.how.preserves_left, join.how.preserves_right)):
        if keeps:
            matched = {pair[side] for pair in output if pair[1 - side] is not None}
            alone = {pair[side] for pair in output if pair[1 - side] is None}
            assert not matched & alone
            assert matched | alone >= {row.id for row in rows[side]}


def late_match(how: JoinType) -> Harness:
    """A left session that overlaps two right ones, of which the first one closes before it."""
    case = sum_is_greater(10)
    join = Join(how, 5, FINAL, 0)
    return Harness(SessionJoin(spec_of(join, pair_predicate=case[0]), Harness.types))


def test_a_row_that_matched_in_an_earlier_step_is_not_emitted_as_unmatched() -> None:
    harness = late_match(JoinType.LEFT)
    lefts = [Row(1, 6, ("a", 1)), Row(9, 7, ("a", 1))]  # [6, 12]
    assert not harness.feed(lefts, at(1, first=2) + at(12, first=0), to=12)  # [1, 6], [12, 17]
    # The first right row matches the second left row: 9 + 2 > 10.
    assert harness.feed(to=13) == {(9, 2, 1, 12): 1}
    assert harness.last.counts["left.in_state"] == 2
    assert harness.feed(to=18) == {(1, None, 6, 17): 1}
    assert harness.last.counts["left.in_state"] == 0


@pytest.mark.parametrize(
    ("how", "first", "last"),
    [
        (JoinType.SEMI, {(9, None, 1, 12): 1}, {}),
        (JoinType.ANTI, {}, {(1, None, 6, 17): 1}),
    ],
)
def test_semi_and_anti_joins_decide_for_each_row(
    how: JoinType, first: dict[object, int], last: dict[object, int]
) -> None:
    harness = late_match(how)
    lefts = [Row(1, 6, ("a", 1)), Row(9, 7, ("a", 1))]
    assert not harness.feed(lefts, at(1, first=2) + at(12, first=0), to=12)
    assert harness.feed(to=13) == first
    assert harness.feed(to=18) == last
    assert harness.finish() == {}
