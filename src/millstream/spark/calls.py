"""Aggregate functions as Spark writes them, for the types of their results and for Spark's own."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DoubleType,
    IntegralType,
    LongType,
    TimestampType,
)

from millstream.connectors.rows import Rows
from millstream.plan.nodes import Call

COLLECTING = ("collect_list", "collect_set")  # their result holds the argument's values in a list
_ORDERED = (IntegralType, DoubleType, DateType, TimestampType)
_COUNTS = ("count", "count_distinct", "approx_count_distinct")
SKETCHED = ("approx_count_distinct", "approx_percentile")


def call_text(call: Call) -> str:
    """The call in Spark SQL, over the same names as the call's own texts."""
    argument = "*" if call.argument is None else call.argument
    match call.function:
        case "count_distinct":
            text = f"count(DISTINCT {argument})"
        case "first" | "last":
            text = f"{call.function}({argument}, {str(call.ignore_nulls).lower()})"
        case "max_by" | "min_by":
            text = f"{call.function}({argument}, {call.by})"
        case "approx_percentile":
            fractions = ", ".join(f"{fraction!r}D" for fraction in call.parameters)
            text = f"approx_percentile({argument}, array({fractions}))"
            if len(call.parameters) == 1:
                text = f"approx_percentile({argument}, {fractions})"
        case name:
            text = f"{name}({argument})"
    return text if call.filter is None else f"{text} FILTER (WHERE {call.filter})"


def result_types(
    rows: Rows, alias: str, calls: tuple[Call, ...], known: Mapping[str, DataType]
) -> list[DataType]:
    """The types that Spark gives the calls over this stream, `known` being those of arguments."""
    types = [_plain_type(call, known) for call in calls]
    asked = [
        F.expr(call_text(call)).alias(call.name)
        for call, kind in zip(calls, types, strict=True)
        if kind is None
    ]
    told = iter(rows.frame.alias(alias).agg(*asked).schema if asked else ())
    return [next(told).dataType if kind is None else kind for kind in types]


def _plain_type(call: Call, known: Mapping[str, DataType]) -> DataType | None:
    """The type of a result where there is little to know; to ask Spark takes it a quarter of a
    second when it has just started."""
    kind = known.get(call.argument or "")
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
