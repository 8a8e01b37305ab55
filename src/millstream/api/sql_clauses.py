"""Clauses of SQL from values of Python: properties, windows, select lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column

from millstream.api.values import UNSET, Duration, SideOutput, Unset, span_of, span_text, ttl_text
from millstream.errors import PlanError
from millstream.plan.resolve.names import literal, quote
from millstream.temporal import LateAction, LatePolicy, StateLimit, Window, WindowKind, format_span

Late = LatePolicy | SideOutput | None
STREAM = "stream"  # the only input of a step


def with_clause(properties: Mapping[str, str]) -> str:
    listed = ", ".join(f"'{name}' = {literal(value)}" for name, value in properties.items())
    return f" WITH ({listed})" if listed else ""


def operator_properties(
    *,
    ttl: Duration | Unset | None = UNSET,
    late: Late = None,
    limit: StateLimit | None = None,
    lateness: Duration = "0s",
) -> dict[str, str]:
    """Returns the properties of an operator that differ from their defaults."""
    found = {}
    if not isinstance(ttl, Unset):
        found["state.ttl"] = ttl_text(ttl)
    if span_of(lateness):
        found["window.lateness"] = span_text(lateness)
    if isinstance(late, SideOutput):
        found |= {"late.policy": "side_output", "late.sink": late.name}
    elif late is not None and late.action is LateAction.REASSIGN:
        found |= {"late.policy": "reassign", "late.budget": format_span(late.budget)}
    if limit is not None and limit.max_rows is not None:
        found["state.max_rows"] = str(limit.max_rows)
    if limit is not None and limit.max_bytes is not None:
        found["state.max_bytes"] = str(limit.max_bytes)
    if limit is not None and limit != StateLimit():
        found["state.on_limit"] = str(limit.on_limit)
    return found


def side_outputs_of(late: Late) -> tuple[str, ...]:
    return (late.name,) if isinstance(late, SideOutput) else ()


def window_clause(window: Window) -> str:
    if not isinstance(window, Window):
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{window!r} is not a window.",
            fix='Use ms.tumbling("1 hour"), ms.sliding(…) or ms.session(…).',
        )
    offset = f", OFFSET {interval(window.offset)}" if window.offset else ""
    match window.kind:
        case WindowKind.TUMBLING:
            return f"WINDOW TUMBLING({interval(window.size)}{offset})"
        case WindowKind.SLIDING:
            sizes = f"SIZE {interval(window.size)}, SLIDE {interval(window.slide)}"
            return f"WINDOW SLIDING({sizes}{offset})"
        case WindowKind.SESSION:
            return f"WINDOW SESSION(GAP {interval(window.size)})"
        case _:
            raise ValueError(f"{window} cannot be written")


def interval(span: int) -> str:
    return f"INTERVAL '{span}' MICROSECONDS"


def expression(given: object, what: str) -> str:
    """Returns a text of SQL that the user gave; a Column of PySpark has none."""
    if isinstance(given, str) and given.strip():
        return f"{given}\n" if "--" in given else given  # a comment ends with its line
    shown = "a Column" if isinstance(given, Column) else repr(given)
    raise PlanError(
        "MS-PLAN-EXPRESSION",
        f"{what} is {shown}, not an expression.",
        fix='Use SQL text: "sum(price * quantity)".',
    )


def column_names(given: object, what: str) -> list[str]:
    """Returns names of columns: one, or several."""
    return [_column_name(name, what) for name in _listed(given)]


def _column_name(given: object, what: str) -> str:
    if isinstance(given, str):
        return given
    shown = "a Column" if isinstance(given, Column) else repr(given)
    raise PlanError(
        "MS-PLAN-EXPRESSION",
        f"{what} is {shown}, not the name of a column.",
        fix='Use the name: "customer_id". To use an expression, add it with select().',
    )


def select_list(items: Sequence[object], named: Mapping[str, object], known: Sequence[str]) -> str:
    """Returns a select list. A text that is the name of a column means that column."""
    listed = []
    for item in items:
        text = expression(item, "a member of select")
        listed.append(quote(text) if text in known else text)
    listed += [f"{expression(text, name)} AS {quote(name)}" for name, text in named.items()]
    return ", ".join(listed)


def aggregate_text(
    relation: str,
    by: Sequence[str],
    calls: Mapping[str, object],
    having: str | None,
    emit: str,
    properties: Mapping[str, str],
) -> str:
    """Returns the SQL of an aggregate. `by` are names; calls and `having` are expressions."""
    if not calls:
        raise PlanError(
            "MS-PLAN-AGGREGATE",
            "an aggregate needs something to compute.",
            fix='Give it by name: aggregate(by="customer_id", orders="count(*)").',
        )
    keys = [quote(name) for name in by]
    shown = [*keys, *(f"{expression(text, name)} AS {quote(name)}" for name, text in calls.items())]
    parts = [f"SELECT {', '.join(shown)} FROM {relation}"]
    if keys:
        parts.append(f"GROUP BY {', '.join(keys)}")
    if having is not None:
        parts.append(f"HAVING {expression(having, 'having')}")
    return " ".join((*parts, emit)) + with_clause(properties)


def order_terms(given: object) -> list[str]:
    """Returns the terms of ORDER BY: one, or several."""
    return [expression(term, "order") for term in _listed(given)]


def over_clause(by: str | Sequence[str], order: Sequence[str], frame: str = "") -> str:
    keys = ", ".join(map(quote, column_names(by, "by")))
    partition = f"PARTITION BY {keys} " if keys else ""
    return f"OVER ({partition}ORDER BY {', '.join(order)}{frame})"


def top_n_text(relation: str, n: int, over: str, rank: str | None) -> str:
    number = f"ROW_NUMBER() {over}"
    shown = f"*, {number} AS {quote(rank)}" if rank else "*"
    return f"SELECT {shown} FROM {relation} QUALIFY {number} <= {int(n)}"


def _listed(given: object) -> list[object]:
    one = isinstance(given, str | Column) or not isinstance(given, Iterable)
    return [given] if one else list(given)  # type: ignore[call-overload]  # it is iterable
