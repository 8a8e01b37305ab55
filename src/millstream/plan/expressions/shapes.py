"""Recognises certain expressions by their resolved trees."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from millstream.plan.expressions.compose import merge_parts
from millstream.plan.expressions.expression import ColumnReference, Expression
from millstream.plan.expressions.spark_sql import quote
from millstream.sql.spans import span_of


def coalesced_columns(expression: Expression) -> tuple[ColumnReference, ...]:
    """Returns the columns of `column` or `coalesce(column, …)`, and none of other expressions."""
    if expression.column is not None:
        return (expression.column,)
    tree = expression.tree
    if not isinstance(tree, exp.Coalesce):
        return ()
    plain = all(isinstance(each, exp.Column) for each in tree.iter_expressions())
    return expression.columns if plain else ()


class ExplodeCall(NamedTuple):
    """`explode(argument)` or, if `outer`, `explode_outer(argument)`."""

    argument: Expression
    outer: bool


def explode_call(expression: Expression) -> ExplodeCall | None:
    """Returns an expression as a call of explode, or None."""
    tree = expression.tree
    if not isinstance(tree, exp.Explode) or isinstance(tree, exp.Posexplode):
        return None
    first, last = expression.parts[0], expression.parts[-1]
    if not isinstance(first, str) or not isinstance(last, str):
        return None
    parts = (*expression.parts[:-1], last.rstrip().removesuffix(")"))
    begin = parts[0]
    assert isinstance(begin, str)
    parts = (begin.partition("(")[2], *parts[1:])
    argument = Expression(merge_parts(parts), lambda: tree.this, origin=expression.origin)
    return ExplodeCall(argument, isinstance(tree, exp.ExplodeOuter))


def struct_fields(expression: Expression) -> list[str] | None:
    """Returns the SQL of the fields of a struct that an expression creates, also inside CASE.

    None if it creates no struct.
    """
    tree = expression.tree
    if isinstance(tree, exp.Case):  # FILTER
        tree = tree.args["ifs"][0].args["true"]
    if not isinstance(tree, exp.Struct | exp.Tuple):
        return None
    values = (
        each.expression if isinstance(each, exp.PropertyEQ) else each for each in tree.expressions
    )
    return [source_sql(value, expression) for value in values]


def unqualified_sql(expression: Expression) -> str:
    """Returns an expression as the user would write it over one stream, for messages."""
    return "".join(part if isinstance(part, str) else quote(part.name) for part in expression.parts)


def source_sql(part: exp.Expr, expression: Expression) -> str:
    """Returns the user's text of a part of an expression's tree, for messages."""
    span, origin = span_of(part), expression.origin
    if span is None or origin is None:
        return part.sql("spark")
    return " ".join(origin.text.parsed[span[0] : span[1] + 1].split())
