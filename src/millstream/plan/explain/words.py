"""Parts of operators in words, as `explain` and others say them."""

from __future__ import annotations

from millstream.plan.expressions import to_spark_sql
from millstream.plan.facts.joins import moved
from millstream.plan.nodes import Call, Input, Order, Source
from millstream.plan.walk import bottom_of
from millstream.temporal import LateAction, LatePolicy, StateLimit, format_span


def clock_text(side: Input) -> str:
    """The watermark of an input: of its source's times, or of the operator it is made by."""
    if isinstance(bottom_of(side.node), Source):
        return moved(f"{side.alias}.{side.progress or side.time}", -side.delay)
    return f"that of {moved(side.alias, -side.delay)}"


def call_text(call: Call) -> str:
    function, distinct = call.function, ""
    if function == "count_distinct":
        function, distinct = "count", "DISTINCT "
    arguments = [f"{distinct}{call.argument or '*'}"]
    arguments += [to_spark_sql(call.by)] if call.by else []
    arguments += [f"{number:g}" for number in call.parameters]
    nulls = ""
    if function in ("first", "last") and call.ignore_nulls:
        nulls = " IGNORE NULLS"
    where = f" FILTER (WHERE {call.filter})" if call.filter else ""
    return f"{function}({', '.join(arguments)}){nulls}{where} AS {call.name}"


def order_text(order: Order) -> str:
    direction = "DESC" if order.descending else "ASC"
    nulls = "" if order.nulls_first is not order.descending else _NULLS[order.nulls_first]
    return f"{order.expression} {direction}{nulls}"


_NULLS = {True: " NULLS FIRST", False: " NULLS LAST"}


def used_text(side: Input) -> str:
    return ", ".join(side.used) or "none but key and time"


def late_text(late: LatePolicy) -> str:
    match late.action:
        case LateAction.SIDE_OUTPUT:
            return f"side_output: late rows go to {late.sink or 'the port late'}"
        case LateAction.REASSIGN:
            budget = format_span(late.budget)
            return f"reassign: rows up to {budget} late get the watermark as their time, others go"
        case LateAction.DROP:
            return "drop: late rows are counted and dropped"


def limit_text(limit: StateLimit) -> str:
    parts = []
    if limit.max_rows is not None:
        parts.append(f"{limit.max_rows} rows")
    if limit.max_bytes is not None:
        parts.append(f"{limit.max_bytes} bytes")
    if not parts:
        return "none"
    then = {"fail": "then the job stops", "evict": "then the oldest rows go, counted"}
    return f"{' or '.join(parts)}, {then[limit.on_limit]}"
