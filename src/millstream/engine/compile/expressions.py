"""Expressions of a plan as Spark columns.

Column references are not parsed: the first text that Spark parses takes as long as a micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.plan.expressions import ColumnReference, Expression, to_spark_sql
from millstream.plan.expressions.spark_sql import reference_sql


def spark_column(expression: Expression) -> Column:
    """Returns the expression as a Spark column."""
    if expression.column is not None:
        return F.col(reference_sql(expression.column))
    return F.expr(to_spark_sql(expression))


def referenced_column(
    expression: Expression, alias: str | None, columns: Iterable[str]
) -> str | None:
    """Returns the name of the column if the expression is a column reference."""
    return None if expression.column is None else find_column(expression.column, alias, columns)


def find_column(
    reference: ColumnReference, alias: str | None, columns: Iterable[str]
) -> str | None:
    """Returns the name in `columns` of a referenced column of the stream with the alias `alias`."""
    if reference.alias is not None and reference.alias.lower() != (alias or "").lower():
        return None
    same = [each for each in columns if each.lower() == reference.name.lower()]
    return same[0] if len(same) == 1 else None


def types_of(rows: DeferredFrame, alias: str, expressions: Sequence[Expression]) -> list[DataType]:
    """Returns the types of expressions over a stream. Calls Spark once at most, because each call
    analyses the whole stream."""
    known = rows.types
    names = [referenced_column(each, alias, known) for each in expressions]
    unknown = [each for each, name in zip(expressions, names, strict=True) if name is None]
    found: list[DataType] = []
    if unknown:
        columns = (spark_column(each).alias(f"t{number}") for number, each in enumerate(unknown))
        found = [field.dataType for field in rows.frame.alias(alias).select(*columns).schema]
    remaining = iter(found)
    return [next(remaining) if name is None else known[name] for name in names]
