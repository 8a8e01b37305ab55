"""Evaluates expressions so that a row for which one fails becomes a dead letter.

Spark evaluates the expressions of a step inside a struct that is NULL for a row for which one of
them fails (`try_struct`), and the step continues with the values of this struct. So a row fails
exactly if Spark would fail for it, with Spark's rules of evaluation, and each expression is
evaluated once. The row then has a rejection in its column BAD, as a malformed record has.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from millstream.connectors.dead_letters import FAILED_EXPRESSION, REPORT
from millstream.engine.runtime.try_eval import try_struct
from millstream.plan.expressions import Expression
from millstream.plan.expressions.failures import FailurePart, failure_of

_ALL_FIELDS = {"ignoreNullFields": "false"}


def evaluated(is_evaluated: Column | None, *values: Column) -> Column:
    """Returns a struct of the values, for rows that are evaluated; NULL for others, and for rows
    for which one of the values fails."""
    # Spark evaluates what two expressions have in common before both, and so outside of
    # `try_struct`, unless a condition decides whether they are evaluated. It must not be constant.
    condition = F.spark_partition_id() >= 0
    if is_evaluated is not None:
        condition &= is_evaluated
    return F.when(condition, try_struct(*values))


def rejection(
    source: str, expressions: Sequence[Expression], row: Sequence[Column], *, is_failed: Column
) -> Column:
    """Returns the rejection of a row for which one of the expressions fails, as JSON; else NULL.

    Args:
        source: The name of the stream in the dead letter.
        expressions: The expressions, in the order in which they are tested.
        row: The columns of the row.
        is_failed: Whether one of them fails.
    """
    parts = [failure_of(each) for each in expressions]
    report = _report(parts[-1])
    for part in reversed(parts[:-1]):
        report = F.when(_fails(part.sql), _report(part)).otherwise(report)
    raw = F.to_json(F.struct(*row), _ALL_FIELDS) if row else F.lit("{}")
    fields = F.struct(
        F.lit(FAILED_EXPRESSION).alias("reason"),
        F.lit(source).alias("source"),
        try_struct(raw.alias("raw"))["raw"].alias("raw"),
        F.unix_micros(F.current_timestamp()).alias("time"),
        report.alias(REPORT),
    )
    return F.when(is_failed, F.to_json(fields))


def _fails(sql: str) -> Column:
    return try_struct(F.expr(sql).alias("value")).isNull()


def _report(part: FailurePart) -> Column:
    """Returns message, column and value of the innermost part that fails."""
    found = _own_report(part)
    for inner in reversed(part.inner):
        fails = _fails(inner.sql)
        if inner.when is not None:
            fails = _is_true(F.expr(inner.when)) & fails
        found = F.when(fails, _report(inner)).otherwise(found)
    return found


def _own_report(part: FailurePart) -> Column:
    where = "" if part.place is None else f"{part.place}: "
    head = f"{where}{part.written} failed: "
    message = F.lit(f"{head}{part.cause}.")
    if part.divisor is not None:
        is_zero = _is_true(F.expr(f"({part.divisor}) = 0"))
        message = F.when(is_zero, F.lit(f"{head}division by zero.")).otherwise(message)
    value = F.lit(None).cast("string")
    if part.value is not None:
        value = try_struct(F.expr(f"CAST(({part.value}) AS STRING)").alias("value"))["value"]
    return F.struct(
        message.alias("message"), F.lit(part.written).alias("column"), value.alias("value")
    )


def _is_true(condition: Column) -> Column:
    tried = try_struct(F.coalesce(condition, F.lit(False)).alias("value"))
    return F.coalesce(tried["value"], F.lit(False))
