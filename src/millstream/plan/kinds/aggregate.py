"""Describes GROUP BY, with or without a window."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from millstream.aggregate_functions import FUNCTIONS
from millstream.plan.document import Description, data, fact
from millstream.plan.document.formats import calls_fact, lateness_fact, output_data, window_data
from millstream.plan.expressions import Expression
from millstream.plan.expressions.shapes import unqualified_sql
from millstream.plan.expressions.spark_sql import to_spark_sql
from millstream.plan.kinds.base import (
    OperatorFacts,
    SingleInputKind,
    StateFacts,
    late_and_limit_limitation,
)
from millstream.plan.kinds.single_input import (
    describe_operator,
    emit_fact,
    expiry_by_ttl,
    input_title,
)
from millstream.plan.kinds.stream_names import delay_behind_sources, input_name
from millstream.plan.nodes import WINDOW_END, WINDOW_START, WINDOW_TIME, Aggregate
from millstream.temporal import Emit, Window, WindowKind, format_span

_LATER_ROW = "a later row of the key starts a new group"


def _state(node: Aggregate) -> StateFacts:
    if node.window is None:
        expiry = expiry_by_ttl(node.ttl, "group", has_key=bool(node.keys), after_expiry=_LATER_ROW)
        return StateFacts(expiry, _group_state_size(node), _emits(node))
    expiry = _window_expiry(node, node.window)
    return StateFacts(expiry, _window_state_size(node, node.window), _emits(node))


def _time_name(node: Aggregate) -> str:
    return "processing time" if node.window and node.window.wall_clock else "the watermark"


def _window_expiry(node: Aggregate, window: Window) -> tuple[str, ...]:
    end = "its end" if not node.lateness else f"its end + {format_span(node.lateness)}"
    why = " ('window.lateness')" if node.lateness else ""
    session = window.kind is WindowKind.SESSION
    what, verb = ("a session", "passes") if session else ("a window", "reaches")
    return (f"{what} when {_time_name(node)} {verb} {end}{why}",)


def _window_state_size(node: Aggregate, window: Window) -> str:
    name = input_name(node.input)
    groups = "one row per" if not node.keys else "one row per key and"
    span = (
        window.size + node.lateness + (0 if window.wall_clock else delay_behind_sources(node.input))
    )
    match window.kind:
        case WindowKind.SESSION:
            return f"{groups} open session of {name}"
        case WindowKind.INHERITED:
            return f"{groups} open window of {name}"
    return f"{groups} window in the last {format_span(span)} of {name}"


def _group_state_size(node: Aggregate) -> str:
    if not node.keys:
        return "one row"
    name = input_name(node.input)
    if node.ttl is None:
        return f"one row per key of {name}"
    return f"one row per key in the last {format_span(node.ttl)} of {name}"


def _emits(node: Aggregate) -> tuple[str, ...]:
    what = "session" if node.window and node.window.kind is WindowKind.SESSION else "window"
    group = what if node.window else "group"
    if node.emit is Emit.FINAL:
        first = f"a window when {_time_name(node)} reaches its end"
        if what == "session":  # a row just at its end would still extend it
            first = f"a session when {_time_name(node)} passes its end"
        if not node.lateness:
            return (first,)
        return (first, "-U/+U after each batch with late rows within the allowed lateness")
    emits = [f"after each batch: +I for each new {group}, -U/+U for each changed one"]
    if what == "session":
        emits.append("-D for each session that is merged into another")
    if node.over_changes:
        emits.append("-D when all rows of a group are retracted")
    return tuple(emits)


def _describe(node: Aggregate, facts: OperatorFacts) -> Description:
    keys = ", ".join(f"{key.expression} AS {key.name}" for key in node.keys)
    own = (
        fact("window", window_data(node.window), "window", _window_text(node, node.window))
        if node.window
        else data("window", None),
        data("given", [to_spark_sql(each) for each in node.given] if node.given else None),
        lateness_fact(node.lateness) if node.window else data("lateness_us", node.lateness),
        fact("keys", [output_data(key) for key in node.keys], "keys", keys or "none: one group"),
        calls_fact(node.calls),
        emit_fact(node),
        data("ttl_us", node.ttl),
        data("over_changes", node.over_changes),
    )
    title, late = f"Aggregate of {input_title(node.input)}", node.window is not None
    return describe_operator(title, node, facts, own, can_be_late=late, buffers_rows=False)


def _window_text(node: Aggregate, window: Window) -> str:
    by = " by processing time" if window.wall_clock else ""
    given = f": {node.given[0]} to {node.given[1]}" if node.given else ""
    return f"{window}{given}{by}"


def _watermark_delay(node: Aggregate, _: int) -> int:
    """Returns the allowed lateness; a session can also change exactly at its end."""
    session = node.window is not None and node.window.kind is WindowKind.SESSION
    return node.lateness + session


def _native_limitation(node: Aggregate) -> str:
    window = node.window
    if window is None or node.emit is Emit.CHANGES:
        return "Spark emits changed rows without the old values"
    if window.kind is WindowKind.INHERITED:
        return "Spark cannot aggregate by the windows of the query below"
    if window.wall_clock:
        return "Spark's windows use event time"
    if window.kind is WindowKind.SESSION and not node.keys:
        return "Spark has no sessions without a key"
    if node.lateness:
        return "Spark drops late rows, and does not update an emitted window"
    return late_and_limit_limitation(node) or _native_call_limitation(node)


def _native_call_limitation(node: Aggregate) -> str:
    for call in node.calls:
        if call.function in ("first", "last"):
            return f"Spark's own {call.function} uses arrival order, not event time"
        if FUNCTIONS[call.function].is_sketch:
            return f"Spark's own {call.function} uses another sketch, with other results"
        if call.function == "count_distinct":
            return "Spark has no COUNT(DISTINCT …) over streams"
    return ""


def _summary(node: Aggregate) -> str:
    return f"aggregates of {input_name(node.input)}{f' in {node.window}' if node.window else ''}"


def _unselected_key(node: Aggregate, shown: Collection[str]) -> str | None:
    for key in node.keys:
        if key.name.lower() not in shown:
            return to_spark_sql(key.expression)
    if node.window and not {WINDOW_START.lower(), WINDOW_END.lower()}.intersection(shown):
        return WINDOW_START
    return None


def _expressions_over_retractions(node: Aggregate) -> tuple[Expression | None, ...]:
    if not node.over_changes:
        return ()
    of_calls = (each for call in node.calls for each in (call.argument, call.filter, call.by))
    return (*(key.expression for key in node.keys), *(node.given or ()), *of_calls)


def _as_partition(node: Aggregate) -> list[str]:
    """Returns the groups as a PARTITION BY list; empty for sessions."""
    window, keys = node.window, [unqualified_sql(key.expression) for key in node.keys]
    if window is None:
        return keys
    if window.kind is WindowKind.SESSION or window.wall_clock:
        return []
    given = [unqualified_sql(each) for each in (node.given or ())[:1]]
    return [*keys, *(given or [WINDOW_START])]


def _generated_columns(node: Aggregate) -> Mapping[str, str]:
    found = {key.name: unqualified_sql(key.expression) for key in node.keys}
    if node.window:
        found |= {name: name.upper() for name in (WINDOW_START, WINDOW_END, WINDOW_TIME)}
    return found


KIND = SingleInputKind[Aggregate](
    name="aggregate",
    state=_state,
    describe=_describe,
    label=lambda _, inputs: f"aggregate of {inputs}",
    summary=_summary,
    watermark_delay=_watermark_delay,
    native_limitation=_native_limitation,
    emit=lambda node: node.emit,
    window=lambda node: node.window,
    has_window_time=lambda node: node.window is not None and not node.window.wall_clock,
    unselected_key=_unselected_key,
    expires_without_retraction=lambda node: node.retracts and node.ttl is not None,
    expressions_over_retractions=_expressions_over_retractions,
    keys=lambda node: tuple(key.expression for key in node.keys),
    unkeyed="two-phase",
    calls=lambda node: node.calls,
    generated_columns=_generated_columns,
    compared_expressions=lambda node: node.given or (),
    as_partition=_as_partition,
    buffers_rows=False,
)
