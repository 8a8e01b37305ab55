"""Evaluates an expression of Spark without failing.

Spark's SQL has `try_` forms of some functions. Its expression `TryEval`, which they are built on,
has no function of its own, but works for every expression: it is NULL where its argument fails.
"""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F


def try_struct(*values: Column) -> Column:
    """Returns a struct of the values; NULL for a row for which one of them fails.

    A struct of values is never NULL itself, so that a value that is NULL differs from a failed one.
    """
    from pyspark.sql.classic.column import Column as ClassicColumn

    context = SparkContext._active_spark_context
    assert context is not None, "there is no session"
    jvm: Any = context._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    struct = expressions.expression(F.struct(*values)._jc)
    tried = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(struct)
    return ClassicColumn(expressions.column(tried))
