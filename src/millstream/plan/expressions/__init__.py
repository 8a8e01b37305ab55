"""SQL expressions of a plan as values, parsed once.

`Expression` has the user's own characters with every column resolved, the resolved sqlglot tree,
and the position in the user's text. `to_spark_sql` generates the text that Spark runs.
"""

from millstream.plan.expressions.compose import (
    column,
    join_with_and,
    parenthesise_if_needed,
    template,
)
from millstream.plan.expressions.expression import ColumnReference, Expression, Origin
from millstream.plan.expressions.spark_sql import to_spark_sql

__all__ = [
    "ColumnReference",
    "Expression",
    "Origin",
    "column",
    "join_with_and",
    "parenthesise_if_needed",
    "template",
    "to_spark_sql",
]
