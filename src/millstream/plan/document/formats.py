"""Formats parts of operators as text and as data."""

from __future__ import annotations

from typing import Any

from millstream.plan.document import Fact, data, fact
from millstream.plan.expressions import to_spark_sql
from millstream.plan.expressions.spark_sql import sql_or_none
from millstream.plan.nodes import Call, Input, Join, Key, Order, Output, TableKey
from millstream.plan.nodes.traversal import operators_of
from millstream.temporal import LateAction, LatePolicy, StateLimit, Window, format_span


def shifted_text(time: str, span: int) -> str:
    """Formats a column and a duration as a sum or difference: "event_time + 24h"."""
    if span == 0:
        return time
    return f"{time} {'+' if span > 0 else '-'} {format_span(abs(span))}"


def watermark_text(side: Input) -> str:
    """Formats the watermark of an input: from its source's times, or from the operator below."""
    if not operators_of(side.node):
        return shifted_text(f"{side.alias}.{side.progress or side.time}", -side.delay)
    return f"watermark of {shifted_text(side.alias, -side.delay)}"


def used_columns_text(side: Input) -> str:
    return ", ".join(side.used) or "key and time only"


def join_key(join: Join) -> str:
    return " and ".join(f"{key.left} = {key.right}" for key in join.keys)


def keys_data(keys: tuple[Key, ...] | tuple[TableKey, ...]) -> list[dict[str, str]]:
    return [{"left": str(key.left), "right": str(key.right)} for key in keys]


def output_data(output: Output) -> dict[str, str | None]:
    return {"sql": to_spark_sql(output.expression), "name": output.name, "type": output.type}


def window_data(window: Window) -> dict[str, Any]:
    return {
        "kind": str(window.kind),
        "size_us": window.size,
        "slide_us": window.slide,
        "offset_us": window.offset,
        "wall_clock": window.wall_clock,
    }


def lateness_fact(micros: int) -> Fact:
    shown = (format_span(micros),) if micros else ()
    return fact("lateness_us", micros, "lateness", *shown)


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


def calls_fact(found: tuple[Call, ...]) -> Fact:
    shown = (", ".join(map(call_text, found)),) if found else ()
    return fact("calls", [_call_data(call) for call in found], "calls", *shown)


def _call_data(call: Call) -> dict[str, Any]:
    return {
        "function": call.function,
        "argument": sql_or_none(call.argument),
        "name": call.name,
        "type": call.type,
        "filter": sql_or_none(call.filter),
        "by": sql_or_none(call.by),
        "ignore_nulls": call.ignore_nulls,
        "parameters": list(call.parameters),
    }


def order_text(order: Order) -> str:
    direction = "DESC" if order.descending else "ASC"
    nulls = "" if order.nulls_first is not order.descending else _NULLS[order.nulls_first]
    return f"{order.expression} {direction}{nulls}"


_NULLS = {True: " NULLS FIRST", False: " NULLS LAST"}


def order_data(order: Order) -> dict[str, Any]:
    return {
        "sql": to_spark_sql(order.expression),
        "descending": order.descending,
        "nulls_first": order.nulls_first,
    }


def late_fact(policy: LatePolicy, *, shown: bool = True) -> Fact:
    """Returns the fact of the late policy; `shown` is false if no row can be late."""
    value: dict[str, Any] = {"action": str(policy.action), "sink": policy.sink}
    if policy.budget:
        value["budget_us"] = policy.budget
    return fact("late", value, "late", late_text(policy)) if shown else data("late", value)


def late_text(policy: LatePolicy) -> str:
    match policy.action:
        case LateAction.SIDE_OUTPUT:
            return f"side_output: late rows go to {policy.sink or 'the output late'}"
        case LateAction.REASSIGN:
            budget = format_span(policy.budget)
            return (
                f"reassign: rows up to {budget} late get the watermark as time, others are dropped"
            )
        case LateAction.DROP:
            return "drop: late rows are dropped and counted"


def limit_fact(state: StateLimit) -> Fact:
    value = {
        "max_rows": state.max_rows,
        "max_bytes": state.max_bytes,
        "on_limit": str(state.on_limit),
    }
    return fact("limit", value, "limit", limit_text(state))


def limit_text(state: StateLimit) -> str:
    parts = []
    if state.max_rows is not None:
        parts.append(f"{state.max_rows} rows")
    if state.max_bytes is not None:
        parts.append(f"{state.max_bytes} bytes")
    if not parts:
        return "none"
    then = {"fail": "then the job stops", "evict": "then the oldest rows are evicted and counted"}
    return f"{' or '.join(parts)}, {then[state.on_limit]}"
