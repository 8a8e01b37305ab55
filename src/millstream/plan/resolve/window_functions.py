"""Rejects windows written as functions in GROUP BY, as in Spark and Flink, with the WINDOW clause
for the query."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.reject import place_of
from millstream.plan.resolve.source_text import flat_text
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText


def _window(time: str, size: str, slide: str = "", offset: str = "") -> str:
    shifted = f", OFFSET {offset}" if offset else ""
    if slide and slide != size:
        return f"SLIDING({time}, SIZE {size}, SLIDE {slide}{shifted})"
    return f"TUMBLING({time}, {size}{shifted})"


_FUNCTIONS: dict[str, Callable[..., str]] = {
    "window": _window,
    "session_window": lambda time, gap: f"SESSION({time}, {gap})",
    "tumble": lambda time, size, offset="": _window(time, size, "", offset),
    "hop": lambda time, slide, size, offset="": _window(time, size, slide, offset),
    "session": lambda time, gap: f"SESSION({time}, {gap})",
}


def reject_window_functions(tree: exp.Select, text: SourceText) -> None:
    group = tree.args.get("group")
    keys = list(group.expressions) if group is not None else []
    for key in keys:
        name = key.name.lower() if isinstance(key, exp.Anonymous) else ""
        if name not in _FUNCTIONS:
            continue
        others = [_written(other, text) for other in keys if other is not key]
        grouped = f"GROUP BY {', '.join(others)} " if others else ""
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"GROUP BY contains {key.name}(…); windows are a clause of the query.",
            fix=f"Write {grouped}WINDOW {_clause(name, key, text)}; its start and end are "
            "_WINDOW_START and _WINDOW_END.",
            place=place_of(key, text),
        )


def _clause(name: str, call: exp.Anonymous, text: SourceText) -> str:
    arguments = [_argument(node, text) for node in call.expressions]
    try:
        return _FUNCTIONS[name](*arguments)
    except TypeError:  # too few or too many arguments
        return (
            "SESSION(INTERVAL '30' MINUTE)" if "session" in name else "TUMBLING(INTERVAL '1' HOUR)"
        )


def _argument(node: exp.Expr, text: SourceText) -> str:
    """Returns an argument; Spark's durations are strings such as '10 minutes'."""
    written = _written(node, text)
    return f"INTERVAL {written}" if isinstance(node, exp.Literal) else written


def _written(node: exp.Expr, text: SourceText) -> str:
    span = span_of(node)
    return flat_text(text.parsed, span, {}) if span else node.sql("spark")
