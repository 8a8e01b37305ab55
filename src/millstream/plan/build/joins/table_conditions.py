"""Reads comparisons of a table's column with constants that a database evaluates as Spark does.

These are comparisons of integer columns with integers, and equalities of text and BOOLEAN columns;
databases differ in how they order text. Spark evaluates all others.
"""

from __future__ import annotations

import re
from typing import Literal

from sqlglot import exp

from millstream.plan.resolve.expressions import ExpressionReader
from millstream.values import Condition

Comparison = Literal["=", "<>", "<", "<=", ">", ">="]
Value = int | str | bool
_OPERATORS: dict[type[exp.Expr], tuple[Comparison, Comparison]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_WHOLE = re.compile(r"TINYINT|SMALLINT|INT|INTEGER|BIGINT|BYTE|SHORT|LONG", re.IGNORECASE)
_TEXT = re.compile(r"STRING|VARCHAR\(\d+\)", re.IGNORECASE)  # without a collation
_BOOLEAN = re.compile(r"BOOLEAN", re.IGNORECASE)


def read_conditions(term: exp.Expr, on: ExpressionReader) -> tuple[Condition, ...]:
    """Returns the conditions of a term over the table, or none if it needs Spark.

    The table is the operator's input 1.
    """
    node = _unwrap(term)
    if isinstance(node, exp.Not):
        return _negated(node, on)
    if isinstance(node, exp.Is):
        column = _column(node.this, on)
        null = isinstance(_unwrap(node.expression), exp.Null)
        return (Condition(column[0], "null"),) if column and null else ()
    if isinstance(node, exp.In):
        return _in_list(node, on)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = _compared(exp.GTE, node.this, node.args["low"], on)
        high = _compared(exp.LTE, node.this, node.args["high"], on)
        return (*low, *high) if low and high else ()
    if type(node) in _OPERATORS:
        return _compared(type(node), node.this, node.expression, on)
    column = _column(node, on)
    return (Condition(column[0], "=", (True,)),) if column and _BOOLEAN.fullmatch(column[1]) else ()


def _negated(node: exp.Not, on: ExpressionReader) -> tuple[Condition, ...]:
    inner = _unwrap(node.this)
    column = _column(inner.this if isinstance(inner, exp.Is) else inner, on)
    if column is None:
        return ()
    if isinstance(inner, exp.Is):
        null = isinstance(_unwrap(inner.expression), exp.Null)
        return (Condition(column[0], "not null"),) if null else ()
    return (Condition(column[0], "=", (False,)),) if _BOOLEAN.fullmatch(column[1]) else ()


def _in_list(node: exp.In, on: ExpressionReader) -> tuple[Condition, ...]:
    column, values = _column(node.this, on), [_constant(each, on) for each in node.expressions]
    if column is None or not values or node.args.get("query"):
        return ()
    known = [value for value in values if value is not None and _is_pushable(value, column[1], "=")]
    return (Condition(column[0], "in", tuple(known)),) if len(known) == len(values) else ()


def _compared(
    operator: type[exp.Expr], one: exp.Expr, other: exp.Expr, on: ExpressionReader
) -> tuple[Condition, ...]:
    as_is, flipped = _OPERATORS[operator]
    for left, right, op in ((one, other, as_is), (other, one, flipped)):
        column, value = _column(left, on), _constant(right, on)
        if column and value is not None and _is_pushable(value, column[1], op):
            return (Condition(column[0], op, (value,)),)
    return ()


def _is_pushable(value: Value, kind: str, op: Comparison) -> bool:
    equality = op in ("=", "<>")
    if isinstance(value, bool):
        return equality and _BOOLEAN.fullmatch(kind) is not None
    if isinstance(value, str):
        return equality and _TEXT.fullmatch(kind) is not None
    return -(2**63) <= value < 2**63 and _WHOLE.fullmatch(kind) is not None


def _column(node: exp.Expr, on: ExpressionReader) -> tuple[str, str] | None:
    """Returns the name and type of the table's column if an expression is one."""
    found = on.column_reference(node) if isinstance(_unwrap(node), exp.Column) else None
    if found is None or found.reads != ((1, found.column.name),):
        return None
    return found.column.name, found.column.type or ""


def _constant(node: exp.Expr, on: ExpressionReader) -> Value | None:
    inner = _unwrap(node)
    if isinstance(inner, exp.Boolean):
        return bool(inner.this)
    if isinstance(inner, exp.Neg):
        value = _constant(inner.this, on)
        return -value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(inner, exp.Literal):
        if inner.is_string:
            # Only Spark resolves escapes.
            text, written = str(inner.this), on.source_sql(inner)
            return text if written in (f"'{text}'", f'"{text}"') else None
        return int(inner.this) if str(inner.this).isdecimal() else None
    return None


def _unwrap(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
