"""Errors that Spark raises for us while it evaluates an expression."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from millstream.errors import MARK


def raise_error(code: str, cause: str | Column, fix: str) -> Column:
    """Returns an expression that stops the query with an error.

    Its message has the same form as `millstream.errors.encode`, so that the driver gets back code,
    cause and fix; Spark makes the JSON, since a cause may quote values of the row.
    """
    told = F.lit(cause) if isinstance(cause, str) else F.coalesce(cause, F.lit(""))
    fields = F.struct(F.lit(code).alias("code"), told.alias("cause"), F.lit(fix).alias("fix"))
    return F.raise_error(F.concat(F.lit(MARK), F.to_json(fields)))
