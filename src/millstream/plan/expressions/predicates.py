"""Predicates that do not need Spark: columns compared with literals, and AND, OR, NOT of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlglot import exp

from millstream.plan.expressions.expression import ColumnReference, Expression

Comparator = Literal["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
_COMPARATORS: dict[type[exp.Expr], tuple[Comparator, Comparator]] = {  # and with sides swapped
    exp.EQ: ("equal", "equal"),
    exp.NEQ: ("not_equal", "not_equal"),
    exp.LT: ("less", "greater"),
    exp.LTE: ("less_equal", "greater_equal"),
    exp.GT: ("greater", "less"),
    exp.GTE: ("greater_equal", "less_equal"),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with a literal: an integer of 64 bits, a string or a boolean."""

    column: ColumnReference
    op: Comparator
    value: int | str | bool


@dataclass(frozen=True, slots=True)
class IsNull:
    column: ColumnReference


@dataclass(frozen=True, slots=True)
class IsTrue:
    """A boolean column as a predicate."""

    column: ColumnReference


@dataclass(frozen=True, slots=True)
class Negation:
    term: LiteralPredicate


@dataclass(frozen=True, slots=True)
class Junction:
    """Terms in SQL's three-valued logic."""

    op: Literal["and", "or"]
    terms: tuple[LiteralPredicate, ...]


LiteralPredicate = Comparison | IsNull | IsTrue | Negation | Junction


def literal_predicate(expression: Expression) -> LiteralPredicate | None:
    """Returns an expression as a predicate if it only compares columns with literals, or None."""
    try:
        return _read(expression.tree)
    except _NotLiteralError:
        return None


class _NotLiteralError(Exception):
    """Raised if only Spark can evaluate the expression."""


def _read(tree: Any) -> LiteralPredicate:
    match tree:
        case exp.Paren():
            return _read(tree.this)
        case exp.And():
            return Junction("and", (_read(tree.left), _read(tree.right)))
        case exp.Or():
            return Junction("or", (_read(tree.left), _read(tree.right)))
        case exp.Not():
            return Negation(_read(tree.this))
        case exp.Column():
            return IsTrue(_column(tree))
        case exp.Is(this=column, expression=exp.Null()):
            return IsNull(_column(column))
    return _comparison(tree)


def _comparison(tree: Any) -> LiteralPredicate:
    match tree:
        case exp.In(this=column) if tree.expressions and len(tree.args) <= 2:
            return Junction("or", tuple(_compare(column, "equal", e) for e in tree.expressions))
        case exp.Between(this=column) if not tree.args.get("symmetric"):
            low = _compare(column, "greater_equal", tree.args["low"])
            return Junction("and", (low, _compare(column, "less_equal", tree.args["high"])))
    if type(tree) not in _COMPARATORS:
        raise _NotLiteralError
    op, swapped = _COMPARATORS[type(tree)]
    if isinstance(tree.left, exp.Column):
        return _compare(tree.left, op, tree.right)
    return _compare(tree.right, swapped, tree.left)


def _column(tree: Any) -> ColumnReference:
    if not isinstance(tree, exp.Column) or isinstance(tree.this, exp.Star):
        raise _NotLiteralError
    return ColumnReference(tree.table or None, tree.name)


def _compare(column: Any, op: Comparator, literal: Any) -> Comparison:
    return Comparison(_column(column), op, _value(literal))


def _value(tree: Any) -> int | str | bool:
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Literal) and tree.is_string and "\\" not in tree.this:
        return str(tree.this)
    negative = isinstance(tree, exp.Neg)
    number = tree.this if negative else tree
    if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdigit():
        raise _NotLiteralError
    value = -int(number.this) if negative else int(number.this)
    if abs(value) >= 2**63:
        raise _NotLiteralError
    return value
