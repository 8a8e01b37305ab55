"""Expressions with which Spark raises errors of Millstream."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from millstream.errors import MARK


def raise_error(code: str, cause: str | Column, fix: str) -> Column:
    """Returns an expression that stops the query with an error.

    Its message has the form of `millstream.errors.encode`, so that the driver can decode code,
    cause and fix. Spark generates the JSON, because a cause may quote values of the row.
    """
    text = F.lit(cause) if isinstance(cause, str) else F.coalesce(cause, F.lit(""))
    fields = F.struct(F.lit(code).alias("code"), text.alias("cause"), F.lit(fix).alias("fix"))
    return F.raise_error(F.concat(F.lit(MARK), F.to_json(fields)))
