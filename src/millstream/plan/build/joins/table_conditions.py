"""Reads comparisons of a table's column with constants that a database evaluates as Spark does.

These are comparisons of integer columns with integers, and equalities of text and BOOLEAN columns;
databases differ in how they order text. Spark evaluates all others.

Broadcast tables are filtered by their workers, which compare dates, too, and accept NULL beside a
comparison: `valid_to IS NULL OR valid_to > DATE '2026-01-01'`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import date
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
_DATE = re.compile(r"DATE", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_OR_NULL: dict[str, Literal["null or <", "null or <=", "null or >", "null or >="]] = {
    "<": "null or <",
    "<=": "null or <=",
    ">": "null or >",
    ">=": "null or >=",
}
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


def read_broadcast_conditions(term: exp.Expr, on: ExpressionReader) -> tuple[Condition, ...]:
    """Returns the conditions of a term over a broadcast table, or none if it needs Spark."""
    node = _unwrap(term)
    if not isinstance(node, exp.Or):
        return read_conditions(term, on) or _compared_dates(node, on)
    for one, other in ((node.left, node.right), (node.right, node.left)):
        (null, *_), compared = read_conditions(one, on) or (None,), _unwrap(other)
        found = read_conditions(compared, on) or _compared_dates(compared, on)
        if null is not None and null.op == "null" and len(found) == 1:
            (condition,) = found
            op = _OR_NULL.get(condition.op)
            if op is not None and condition.column == null.column:
                return (replace(condition, op=op),)
    return ()


def _compared_dates(node: exp.Expr, on: ExpressionReader) -> tuple[Condition, ...]:
    if type(node) not in _OPERATORS:
        return ()
    as_is, flipped = _OPERATORS[type(node)]
    for left, right, op in (
        (node.this, node.expression, as_is),
        (node.expression, node.this, flipped),
    ):
        column, day = _column(left, on), _day(right)
        if column and day is not None and _DATE.fullmatch(column[1]):
            return (Condition(column[0], op, (day,)),)
    return ()


def _day(node: exp.Expr) -> str | None:
    """Returns a date, as DATE '2026-01-01' or a text."""
    inner = _unwrap(node)
    if isinstance(inner, exp.Cast) and inner.to.this is exp.DType.DATE:
        inner = inner.this
    if isinstance(inner, exp.Literal) and inner.is_string and _DAY.fullmatch(inner.name):
        with suppress(ValueError):
            return date.fromisoformat(inner.name).isoformat()
    return None


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
