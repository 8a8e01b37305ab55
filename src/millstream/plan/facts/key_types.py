"""Rejects joins whose keys have types that the columnar engine does not compare."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, column
from millstream.plan.expressions.shapes import unqualified_sql
from millstream.plan.expressions.spark_sql import to_spark_sql
from millstream.plan.expressions.sql_types import TEMPORAL, Family, SqlType, sql_type
from millstream.plan.nodes import Join, Operator, TableJoin


def reject_key_types(operators: Iterable[Operator]) -> None:
    """Rejects keys of two families; other types are known only when Spark has analyzed them."""
    for operator in operators:
        if not isinstance(operator, Join):
            continue
        for key in operator.keys:
            one, other = key.left.known_type, key.right.known_type
            if one and other and not _has_common_type(one.family, other.family):
                raise _error(key.left, one, key.right, other, operator.place)


def reject_table_key_types(joins: Iterable[TableJoin]) -> None:
    """Rejects keys of another family than the column of the table, on every engine."""
    for join in joins:
        kinds = {each.name: each.type for each in join.table.columns}
        for key in join.keys:
            one, other = key.left.known_type, sql_type(kinds.get(key.right))
            if one and other and not _has_common_type(one.family, other.family):
                raise _error(key.left, one, column(join.alias, key.right), other, join.place)


def _has_common_type(one: Family, other: Family) -> bool:
    return one is other or {one, other} <= TEMPORAL


def _error(
    left: Expression, one: SqlType, right: Expression, other: SqlType, place: Place | None
) -> PlanError:
    left_sql, right_sql = _sql(left), _sql(right)
    if one.family is Family.STRING:
        fix = f"Write {left_sql} = CAST({right_sql} AS STRING)."
    elif other.family is Family.STRING:
        fix = f"Write CAST({left_sql} AS STRING) = {right_sql}."
    else:
        fix = "CAST one side to the type of the other."
    found = left.origin or right.origin
    return PlanError(
        "MS-PLAN-KEY-TYPE",
        f"the key of a join compares {left_sql}, which is {one.text}, with {right_sql}, which is "
        f"{other.text}.",
        fix=fix,
        place=found.text.place(found.span[0]) if found else place,
    )


def _sql(expression: Expression) -> str:
    """Returns an expression as the user wrote it."""
    if expression.origin is not None:
        return expression.origin.text.excerpt(expression.origin.span)
    unnamed = any(column.alias in (None, "joined") for column in expression.columns)
    return unqualified_sql(expression) if unnamed else to_spark_sql(expression)
