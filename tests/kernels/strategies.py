"""Rows, bounds, predicates and arrivals for property tests."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from tests.kernels.interval_join.oracle import Row

from millstream.kernels.state.compaction import LogSettings
from millstream.scalars import (
    Arithmetic,
    Case,
    Cast,
    Compare,
    IsNull,
    Logic,
    Operand,
    Predicate,
    Scalar,
    ScalarType,
)
from millstream.values import JoinType

Batches = list[tuple[list[Row], list[Row]]]

hows = st.sampled_from(list(JoinType))
bounds = st.tuples(st.integers(-12, 12), st.integers(0, 15)).map(lambda b: (b[0], b[0] + b[1]))
keys = st.tuples(st.sampled_from(["a", "b", "é", None]), st.sampled_from([1, 2, None]))
numbers = st.sampled_from([None, math.nan, -math.inf, -0.0, 0.0, 1.0, 2.5])
# Tiny settings, so that a few rows are merged, split and flagged as millions would be.
log_settings = st.builds(
    LogSettings,
    max_blob=st.sampled_from([150, 32 << 20]),
    small_rows=st.sampled_from([1, 3, 2048]),
    fan_in=st.sampled_from([2, 4]),
    recent_bytes=st.sampled_from([0, 8, 16 << 10]),
)


@st.composite
def rows(
    draw: st.DrawFn, max_size: int = 14, times: st.SearchStrategy[int] | None = None
) -> list[Row]:
    times = times if times is not None else st.integers(-10, 50)
    found = draw(st.lists(st.tuples(times, keys, numbers), max_size=max_size))
    return [Row(number, t, key, x) for number, (t, key, x) in enumerate(found)]


@dataclass(frozen=True)
class Arrival:
    """Batches in which no row is late, given the delays."""

    batches: Batches
    delays: tuple[int, int]


@st.composite
def in_time(draw: st.DrawFn, sides: tuple[Sequence[Row], Sequence[Row]]) -> Arrival:
    """Rows out of order by no more than their side's delay, cut into batches at random.

    With a cut for each row number, a batch may hold rows of both sides, of one, or of none.
    """
    delays = (draw(st.integers(0, 20)), draw(st.integers(0, 20)))
    count = draw(st.integers(1, 6))
    cut: list[list[list[Row]]] = []
    for side, delay in zip(sides, delays, strict=True):
        jitter = draw(st.lists(st.integers(0, delay), min_size=len(side), max_size=len(side)))
        order = sorted(range(len(side)), key=lambda i: side[i].t + jitter[i])
        where = sorted(
            draw(st.lists(st.integers(0, count - 1), min_size=len(side), max_size=len(side)))
        )
        batches: list[list[Row]] = [[] for _ in range(count)]
        for number, batch in zip(order, where, strict=True):
            batches[batch].append(side[number])
        cut.append(batches)
    return Arrival(list(zip(cut[0], cut[1], strict=True)), delays)


@st.composite
def any_order(draw: st.DrawFn, sides: tuple[Sequence[Row], Sequence[Row]]) -> Arrival:
    """Rows in any batch: many of them late."""
    delays = (draw(st.integers(0, 10)), draw(st.integers(0, 10)))
    count = draw(st.integers(1, 6))
    batches: Batches = [([], []) for _ in range(count)]
    for number, side in enumerate(sides):
        for row in side:
            batches[draw(st.integers(0, count - 1))][number].append(row)
    return Arrival(batches, delays)


# --- predicates, and what they mean row by row in SQL's three-valued logic

_names = ["l_x", "r_x", "l_id", "r_id"]
plain_compares = st.builds(
    Compare, st.sampled_from(_names), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    st.sampled_from(_names),
)  # fmt: skip
_OPERANDS = {
    "l_x": Operand("l_x", 0, ScalarType.DOUBLE),
    "r_x": Operand("r_x", 1, ScalarType.DOUBLE),
    "l_id": Cast(Operand("l_id", 0, ScalarType.BIGINT), ScalarType.BIGINT, ScalarType.DOUBLE),
}
operands = st.sampled_from(list(_OPERANDS.values()))
sums = st.builds(Arithmetic, operands, st.sampled_from("+-*"), operands, st.just(ScalarType.DOUBLE))
tests_for_null = st.builds(IsNull, st.one_of(operands, sums))
cases = st.builds(
    lambda condition, value, otherwise: Case(
        ((condition, value),), otherwise, ScalarType.DOUBLE
    ),
    tests_for_null, operands, sums,
)  # fmt: skip
compares = st.one_of(
    plain_compares,
    tests_for_null,
    st.builds(Compare, st.one_of(sums, cases), st.sampled_from(["=", "<", ">="]), operands),
)
predicates: st.SearchStrategy[Predicate] = st.recursive(
    compares,
    lambda inner: st.one_of(
        st.builds(Logic, st.just("not"), st.tuples(inner)),
        st.builds(
            Logic,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
    ),
    max_leaves=5,
)

_OPERATORS: dict[str, Callable[[tuple[bool, float], tuple[bool, float]], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def holds(predicate: Predicate, left: Row, right: Row) -> bool | None:
    if isinstance(predicate, IsNull):
        return _number(predicate.term, left, right) is None
    if isinstance(predicate, Compare):
        one, two = (_number(each, left, right) for each in (predicate.left, predicate.right))
        if one is None or two is None:
            return None
        return _OPERATORS[predicate.op](_nan_last(one), _nan_last(two))
    assert isinstance(predicate, Logic)
    terms = [holds(term, left, right) for term in predicate.terms]
    if predicate.op == "not":
        return None if terms[0] is None else not terms[0]
    decisive = predicate.op == "or"  # TRUE decides an OR, FALSE an AND
    if decisive in terms:
        return decisive
    return None if None in terms else not decisive


def _calculate(one: float, op: str, two: float) -> float:
    if op == "*":
        return one * two
    return one + two if op == "+" else one - two


def _number(node: str | Scalar, left: Row, right: Row) -> float | None:
    match node:
        case str():
            return {"l_x": left.x, "r_x": right.x, "l_id": left.id, "r_id": right.id}[node]
        case Operand(name):
            return _number(name, left, right)
        case Cast(term):
            return _number(term, left, right)
        case Case(((condition, value),), otherwise):
            is_taken = holds(condition, left, right)
            return _number(value if is_taken else otherwise, left, right)
        case Arithmetic(one, op, two):
            numbers = _number(one, left, right), _number(two, left, right)
            if numbers[0] is None or numbers[1] is None:
                return None
            return _calculate(numbers[0], op, numbers[1])
    raise AssertionError(node)


def _nan_last(number: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(number) else (False, number)
