"""Evaluation of predicates over pairs of rows in SQL's three-valued logic.

Polars compares as Spark does: NaN equals NaN and is greater than every number, -0.0 equals 0.0,
strings compare bytewise, a comparison with NULL is NULL, and NULL AND FALSE is FALSE.

An error, such as a division by zero, is raised only for rows for which Spark evaluates the
operation: each part of an expression is evaluated with the rows for which it is `live`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import polars as pl

from millstream.kernels.core.arithmetic import calculate, convert, data_type, negate
from millstream.kernels.core.like import match_patterns
from millstream.scalars import (
    Arithmetic,
    Case,
    Cast,
    Compare,
    Constant,
    IsNull,
    Like,
    Logic,
    Negation,
    Operand,
    Predicate,
    Scalar,
    terms_of,
)

_COMPARE: dict[str, Callable[[pl.Series, pl.Series], pl.Series]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(
    predicate: Predicate,
    column: Callable[[str], pl.Series],
    height: int,
    live: pl.Series | None = None,
) -> pl.Series:
    """Returns TRUE, FALSE or NULL for each row; without meaning for rows that are not live."""
    return _Evaluation(column, height).value(predicate, live)


def columns_of(predicate: Predicate | None) -> Iterator[str]:
    """Yields the columns that a predicate reads."""
    if isinstance(predicate, Operand):
        yield predicate.value
    elif predicate is not None:
        for term in terms_of(predicate):
            if isinstance(term, str):
                yield term
            else:
                yield from columns_of(term)


def columns_by_side(predicate: Predicate | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the columns of each side that a predicate reads."""
    sides: tuple[dict[str, None], dict[str, None]] = ({}, {})

    def read(node: str | Scalar, side: int) -> None:
        if isinstance(node, str):
            sides[side][node] = None
        elif isinstance(node, Operand):
            sides[node.side][node.value] = None
        else:  # the names of a comparison are of the left and the right side
            for number, term in enumerate(terms_of(node)):
                read(term, number)

    if predicate is not None:
        read(predicate, 0)
    return tuple(sides[0]), tuple(sides[1])


@dataclass(frozen=True, slots=True)
class _Evaluation:
    column: Callable[[str], pl.Series]
    height: int

    def value(  # noqa: PLR0911, a return for each kind of node
        self, node: str | Scalar, live: pl.Series | None
    ) -> pl.Series:
        match node:
            case str():
                return self.column(node)
            case Operand():
                return self.column(node.value)
            case Constant():
                constant = pl.Series([node.value], dtype=data_type(node.type))
                return constant.new_from_index(0, self.height)
            case Logic():
                return self._logic(node, live)
            case Compare():
                left, right, _ = self._both(node.left, node.right, live)
                return _COMPARE[node.op](left, right)
            case Case():
                return self._case(node, live)
            case IsNull():
                return self.value(node.term, live).is_null()
            case Like():
                return match_patterns(*self._both(node.term, node.pattern, live), node.escape)
            case Arithmetic():
                return self._arithmetic(node, live)
            case Negation():
                return negate(self.value(node.term, live), node.type, live)
            case Cast():
                return convert(self.value(node.term, live), node.source, node.type, live)

    def _both(
        self, first: str | Scalar, second: str | Scalar, live: pl.Series | None
    ) -> tuple[pl.Series, pl.Series, pl.Series | None]:
        """Returns two values, and for which rows both were evaluated: if the first one is NULL,
        the second is not."""
        one = self.value(first, live)
        if one.null_count():
            live = _both_true(live, one.is_not_null())
        return one, self.value(second, live), live

    def _arithmetic(self, node: Arithmetic[str], live: pl.Series | None) -> pl.Series:
        if node.op in ("/", "%"):  # Spark evaluates the divisor first
            right, left, live = self._both(node.right, node.left, live)
        else:
            left, right, live = self._both(node.left, node.right, live)
        return calculate(left, node.op, right, node.type, live)

    def _logic(self, node: Logic[str], live: pl.Series | None) -> pl.Series:
        if node.op == "not":
            return ~self.value(node.terms[0], live)
        decisive = node.op == "or"  # TRUE decides an OR, FALSE an AND
        values: list[pl.Series] = []
        for term in node.terms:
            values.append(self.value(term, live))
            undecided = ~values[-1] if decisive else values[-1]
            live = _both_true(live, undecided.fill_null(value=True))
        return reduce(operator.or_ if decisive else operator.and_, values)

    def _case(self, node: Case[str], live: pl.Series | None) -> pl.Series:
        values: list[tuple[pl.Series, pl.Series]] = []
        for condition, value in node.branches:
            is_taken = self.value(condition, live).fill_null(value=False)
            values.append((is_taken, self.value(value, _both_true(live, is_taken))))
            live = _both_true(live, ~is_taken)
        found = self.value(node.otherwise, live)
        for is_taken, taken in reversed(values):
            found = taken.zip_with(is_taken, found)
        return found


def _both_true(one: pl.Series | None, other: pl.Series) -> pl.Series:
    return other if one is None else one & other
