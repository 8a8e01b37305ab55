"""Expressions of a plan as columns of Spark's. What is no more than a column needs no parser: the
first text that Spark parses costs a cold JVM as much as a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.plan.expressions import ColumnReference, Expression, to_spark_sql
from millstream.plan.expressions.spark_sql import reference_sql


def spark_column(expression: Expression) -> Column:
    """The expression as Spark evaluates it."""
    if expression.column is not None:
        return F.col(reference_sql(expression.column))
    return F.expr(to_spark_sql(expression))


def referenced_column(
    expression: Expression, alias: str | None, columns: Iterable[str]
) -> str | None:
    """The column that an expression is, if it is no more."""
    return None if expression.column is None else find_column(expression.column, alias, columns)


def find_column(
    reference: ColumnReference, alias: str | None, columns: Iterable[str]
) -> str | None:
    """The name among `columns` of a referenced column of the stream called `alias`."""
    if reference.alias is not None and reference.alias.lower() != (alias or "").lower():
        return None
    same = [each for each in columns if each.lower() == reference.name.lower()]
    return same[0] if len(same) == 1 else None


def types_of(rows: DeferredFrame, alias: str, expressions: Sequence[Expression]) -> list[DataType]:
    """The types of expressions over a stream of that alias. Spark is asked at most once: every
    question makes it analyse the whole stream."""
    known = rows.types
    plain = [referenced_column(each, alias, known) for each in expressions]
    asked = [each for each, name in zip(expressions, plain, strict=True) if name is None]
    found: list[DataType] = []
    if asked:
        columns = (spark_column(each).alias(f"t{number}") for number, each in enumerate(asked))
        found = [field.dataType for field in rows.frame.alias(alias).select(*columns).schema]
    told = iter(found)
    return [next(told) if name is None else known[name] for name in plain]
