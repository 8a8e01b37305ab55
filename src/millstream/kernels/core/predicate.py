"""Evaluation of predicates over columns in SQL's three-valued logic.

Polars compares as Spark does: NaN equals NaN and is greater than every number, -0.0 equals 0.0,
strings compare bytewise, a comparison with NULL is NULL, and NULL AND FALSE is FALSE.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce

import polars as pl

from millstream.values import Compare, Predicate

_COMPARE: dict[str, Callable[[pl.Series, pl.Series], pl.Series]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(predicate: Predicate, column: Callable[[str], pl.Series]) -> pl.Series:
    """Returns TRUE, FALSE or NULL for each row."""
    if isinstance(predicate, Compare):
        return _COMPARE[predicate.op](column(predicate.left), column(predicate.right))
    terms = [evaluate(term, column) for term in predicate.terms]
    if predicate.op == "not":
        return ~terms[0]
    return reduce(operator.and_ if predicate.op == "and" else operator.or_, terms)


def columns_of(predicate: Predicate | None) -> Iterator[str]:
    """Yields the columns that a predicate reads."""
    if isinstance(predicate, Compare):
        yield predicate.left
        yield predicate.right
    elif predicate is not None:
        for term in predicate.terms:
            yield from columns_of(term)
