"""Aggregate functions in Spark SQL: their expressions and the types of their results."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import (
    DataType,
    DateType,
    DoubleType,
    IntegralType,
    LongType,
    TimestampType,
)

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.engine.compile.expressions import spark_column
from millstream.plan.expressions import Expression, template
from millstream.plan.nodes import Call

_ORDERED = (IntegralType, DoubleType, DateType, TimestampType)
_COUNTS = ("count", "count_distinct", "approx_count_distinct")


def call_expression(call: Call) -> Expression:
    """Returns the call as Spark evaluates it, with the column names of the call's expressions."""
    argument = () if call.argument is None else (call.argument,)
    one = "*" if call.argument is None else "{}"
    match call.function:
        case "count_distinct":
            made = template(f"count(DISTINCT {one})", *argument)
        case "first" | "last":
            ignored = str(call.ignore_nulls).lower()
            made = template(f"{call.function}({one}, {ignored})", *argument)
        case "max_by" | "min_by":
            assert call.by is not None
            made = template(f"{call.function}({one}, {{}})", *argument, call.by)
        case "approx_percentile":
            fractions = ", ".join(f"{fraction!r}D" for fraction in call.parameters)
            several = fractions if len(call.parameters) == 1 else f"array({fractions})"
            made = template(f"approx_percentile({one}, {several})", *argument)
        case name:
            made = template(f"{name}({one})", *argument)
    return made if call.filter is None else template("{} FILTER (WHERE {})", made, call.filter)


def result_types(
    rows: DeferredFrame, alias: str, calls: tuple[Call, ...], known: Mapping[Expression, DataType]
) -> list[DataType]:
    """Returns the types that Spark gives to the calls. `known` are the types of their arguments."""
    types = [_known_type(call, known) for call in calls]
    unknown = [
        spark_column(call_expression(call)).alias(call.name)
        for call, kind in zip(calls, types, strict=True)
        if kind is None
    ]
    found = iter(rows.frame.alias(alias).agg(*unknown).schema if unknown else ())
    return [next(found).dataType if kind is None else kind for kind in types]


def _known_type(call: Call, known: Mapping[Expression, DataType]) -> DataType | None:
    """The type of a result that needs no analysis by Spark, which takes a quarter of a second just
    after its start."""
    kind = None if call.argument is None else known.get(call.argument)
    match call.function:
        case name if name in _COUNTS:
            return LongType()
        case "min" | "max" if isinstance(kind, _ORDERED):
            return kind
        case "sum" if isinstance(kind, IntegralType):
            return LongType()
        case "sum" | "avg" if isinstance(kind, DoubleType):
            return DoubleType()
        case "avg" if isinstance(kind, IntegralType):
            return DoubleType()
        case _:
            return None
