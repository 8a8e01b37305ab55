"""Reads the limit of a filter on ROW_NUMBER(): n <= 10, n < 11, n = 1, n BETWEEN 1 AND 10."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.reject import place_of
from millstream.sql.limits import MAX_ROWS
from millstream.sql.text import SourceText

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.EQ: exp.EQ,
}


@dataclass(frozen=True, slots=True)
class RowLimit:
    """A limit of `n` rows; `is_exact` if the filter has no other effect."""

    n: int
    is_exact: bool


def extract_row_limit(
    terms: list[exp.Expr], is_rank: Callable[[exp.Expr], bool], text: SourceText
) -> tuple[list[exp.Expr], RowLimit | None]:
    """Returns the terms that remain as filters, and the limit that the terms set."""
    remaining: list[exp.Expr] = []
    limits: list[RowLimit] = []
    for term in terms:
        found = _limit(term, is_rank)
        if found is None:
            remaining.append(term)
            continue
        if found.n < 1:
            raise PlanError(
                "MS-PLAN-TOP-N",
                "ROW_NUMBER() starts at 1, so no row passes the filter.",
                fix="Select at least one row.",
                place=place_of(term, text),
            )
        if found.n > MAX_ROWS:
            raise PlanError(
                "MS-PLAN-TOP-N",
                f"the ranking keeps {found.n:,} rows per group; the maximum is {MAX_ROWS:,}.",
                fix="Select fewer rows.",
                place=place_of(term, text),
            )
        limits.append(found)
        if not found.is_exact:
            remaining.append(term)
    return remaining, min(limits, key=lambda limit: limit.n, default=None)


def _limit(term: exp.Expr, is_rank: Callable[[exp.Expr], bool]) -> RowLimit | None:
    while isinstance(term, exp.Paren):
        term = term.this
    if isinstance(term, exp.Between) and is_rank(_unwrap(term.this)):
        low, high = literal_number(term.args["low"]), literal_number(term.args["high"])
        return None if low is None or high is None else RowLimit(high, low <= 1)
    operator = type(term)
    if operator not in _FLIPPED:
        return None
    one, other = _unwrap(term.this), _unwrap(term.expression)
    if is_rank(other):
        one, other, operator = other, one, _FLIPPED[operator]
    number = literal_number(other)
    if number is None or not is_rank(one):
        return None
    limits_by_operator: dict[type[exp.Expr], int] = {
        exp.LTE: number,
        exp.LT: number - 1,
        exp.EQ: number,
    }
    n = limits_by_operator.get(operator)
    return None if n is None else RowLimit(n, operator is not exp.EQ or n == 1)


def _unwrap(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def literal_number(node: exp.Expr) -> int | None:
    """Returns the value of a whole number; None for other expressions."""
    node = _unwrap(node)
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    if not isinstance(literal, exp.Literal) or literal.is_string or not literal.is_int:
        return None
    return -int(literal.name) if negative else int(literal.name)
