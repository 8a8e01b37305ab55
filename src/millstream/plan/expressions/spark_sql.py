"""Generates the Spark SQL text of an expression: the only place where a text for Spark is made."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.plan.expressions.expression import ColumnReference, Expression
from millstream.plan.expressions.quoting import quote


def to_spark_sql(expression: Expression) -> str:
    """The user's own characters, with every column qualified and quoted where it needs to be.

    sqlglot's generator is not used: it rewrites `nvl`, `mod`, `to_timestamp`, `first(x, true)`,
    `regexp_extract(…, 1)` and others to forms that are equivalent, but not what was written.
    """
    return "".join(
        reference_sql(part) if isinstance(part, ColumnReference) else part
        for part in expression.parts
    )


def reference_sql(reference: ColumnReference) -> str:
    """The text of a column reference."""
    name = quote(reference.name)
    return name if reference.alias is None else f"{quote(reference.alias)}.{name}"


def sql_list(expressions: Iterable[Expression]) -> str:
    """The texts of expressions, in a list."""
    return ", ".join(map(to_spark_sql, expressions))


def sql_or_none(expression: Expression | None) -> str | None:
    return None if expression is None else to_spark_sql(expression)
