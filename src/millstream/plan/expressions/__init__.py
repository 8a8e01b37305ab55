"""The expression as a value: what a plan knows of a piece of SQL, parsed once.

`Expression` holds the user's own characters with every column resolved, the resolved sqlglot tree,
and where it comes from. `to_spark_sql` generates the text that Spark runs.
"""

from millstream.plan.expressions.compose import (
    join_with_and,
    column,
    parenthesise_if_needed,
    template,
)
from millstream.plan.expressions.expression import ColumnReference, Expression, Origin
from millstream.plan.expressions.spark_sql import to_spark_sql

__all__ = [
    "ColumnReference",
    "Expression",
    "Origin",
    "join_with_and",
    "column",
    "parenthesise_if_needed",
    "template",
    "to_spark_sql",
]
