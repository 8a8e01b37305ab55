"""Applies compiled operations to the working dataset: joins in order, then assignments.

While an operation runs, each joined column is stored as `<column>_<alias>`. Aliases are scoped to
their operation: these columns are dropped at its end. Assign the values that the result needs to
columns. All assignments of an operation read the values before it, as in SQL's UPDATE.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream.catalog.execution.compile import CompiledJoin, CompiledOperation
from millstream.engine.compile.expressions import spark_column
from millstream.plan.expressions.spark_sql import quote
from millstream.suggestions import same


def store_columns(rows: DataFrame, join: CompiledJoin) -> DataFrame:
    """Returns the columns of a joined dataset under the names of the join."""
    return rows.select(*(F.col(quote(name)).alias(stored) for name, stored in join.stored.items()))


def apply_join(working: DataFrame, stored: DataFrame, join: CompiledJoin) -> DataFrame:
    """Joins a dataset, its columns named by `store_columns`, to the working dataset."""
    assert join.condition is not None, "operations with problems are not executed"
    condition = spark_column(join.condition.resolved)
    return working.join(stored, condition, join.join.join_type.value)


def apply_assignments(joined: DataFrame, operation: CompiledOperation) -> DataFrame:
    """Returns the working columns with their new values, without joined columns."""
    assigned = {
        each.assignment.column: F.lit(None)
        if each.expression is None
        else spark_column(each.expression.resolved)
        for each in operation.assignments
    }
    return joined.select(*(_value(name, assigned).alias(name) for name in operation.columns))


def _value(name: str, assigned: dict[str, Column]) -> Column:
    found = next((value for target, value in assigned.items() if same(target, name)), None)
    return F.col(quote(name)) if found is None else found
