"""Reads the keys of a join: equalities of both sides, with = or <=>.

A null-safe equality is two keys without NULLs: whether both values are NULL, and the values with a
constant in place of NULL. So rows with NULL keys are placed and compared like others.
"""

from __future__ import annotations

from typing import NoReturn, cast

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.joins.pair_predicate import PairPredicateReader, without_parentheses
from millstream.plan.expressions import Expression, parenthesise_if_needed, template
from millstream.plan.nodes import Key
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.sql.normal_type import normal_type

_REPLACEMENTS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "0"),
    "string": "''",
    "varchar": "''",
    "char": "''",
    "binary": "X''",
    "boolean": "false",
    "date": "DATE'1970-01-01'",
    "timestamp": "TIMESTAMP'1970-01-01 00:00:00Z'",
    "timestamp_ntz": "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
}


def read_keys(term: exp.Expr, expressions: ExpressionReader) -> tuple[Key, ...]:
    """Returns the keys of a term; none if it is no equality of both sides."""
    node = without_parentheses(term)
    if not expressions.is_deterministic(term):
        return ()
    reader = PairPredicateReader(expressions)
    if isinstance(node, exp.NullSafeEQ):
        sides = reader.compare_sides(exp.EQ(this=node.this, expression=node.expression))
        if sides is None:
            return ()
        one, other = cast("Expression", sides.left), cast("Expression", sides.right)
        return _null_safe_keys(one, other, term, expressions)
    found = reader.compare_sides(node)
    if found is None or found.op != "=":
        return ()
    return (Key(cast("Expression", found.left), cast("Expression", found.right)),)


def _null_safe_keys(
    left: Expression, right: Expression, term: exp.Expr, expressions: ExpressionReader
) -> tuple[Key, ...]:
    values, tests = [], []
    for value in (left, right):
        kind = "" if value.type is None else normal_type(value.type).partition("(")[0]
        replacement = _REPLACEMENTS.get(kind)
        if replacement is None:
            _reject_type(value, term, expressions)
        one = value if value.is_column else parenthesise_if_needed(value)
        values.append(template(f"coalesce({{}}, {replacement})", value, kind=value.type))
        tests.append(template("({} IS NULL)", one, kind="BOOLEAN"))
    return Key(*values), Key(*tests)


def _reject_type(value: Expression, term: exp.Expr, expressions: ExpressionReader) -> NoReturn:
    reason = f"is {value.type}" if value.type else "has no declared type"
    raise PlanError(
        "MS-PLAN-KEY-TYPE",
        f"{expressions.source_sql(term)} compares NULLs as keys, and {value} {reason}.",
        fix="CAST both sides to one type, or write = if NULL keys do not have to match.",
        place=place_of(term, expressions.scope.text),
    )
