"""Rejects calls of functions that Spark does not have, with the nearest name as the fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from sqlglot import exp

from millstream.errors import PlanError
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText

# Syntax of Spark's parser that looks like a call.
_SYNTAX = frozenset(
    ("identifier", "timediff", "timestampadd", "timestampdiff", "try_cast", "values")
)
# Functions of Flink and others that are columns here.
_COLUMNS = {
    "proctime": "Write _PROCESSING_TIME.",
    "rowtime": "Write _EVENT_TIME.",
    "rowkey": "Write _KEY.",
    "tumble_start": "Write _WINDOW_START.",
    "tumble_end": "Write _WINDOW_END.",
    "tumble_rowtime": "Write _WINDOW_TIME.",
    "hop_start": "Write _WINDOW_START.",
    "hop_end": "Write _WINDOW_END.",
    "session_start": "Write _WINDOW_START.",
    "session_end": "Write _WINDOW_END.",
}
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")


def _no_function(_: str) -> bool:
    return False


# Returns whether the session has a function, such as a registered UDF.
_session_function: ContextVar[Callable[[str], bool]] = ContextVar(
    "session_function", default=_no_function
)


@contextmanager
def session_functions(exists: Callable[[str], bool]) -> Iterator[None]:
    """Accepts functions for which `exists` is true, besides Spark's own."""
    token = _session_function.set(exists)
    try:
        yield
    finally:
        _session_function.reset(token)


@cache
def spark_functions() -> frozenset[str]:
    """Returns the names of Spark's functions in lower case."""
    text = files(__package__).joinpath("spark_functions.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def called_name(node: exp.Expr, text: SourceText) -> str | None:
    """Returns the name of the function that a node calls, as the user wrote it, or None."""
    span = span_of(node)
    if span is None or not isinstance(node, exp.Func):
        return None
    found = _CALL.match(text.parsed, span[0], span[1] + 1)
    is_qualified = text.parsed[: span[0]].rstrip()[-1:] == "."
    return found[1] if found and not is_qualified else None


def reject_unknown_function(node: exp.Expr, text: SourceText) -> None:
    """Rejects a call of a function that neither Spark nor the session has."""
    name = called_name(node, text)
    if name is None or name.lower() in spark_functions() or name.lower() in _SYNTAX:
        return
    if _session_function.get()(name):
        return
    span = span_of(node)
    raise PlanError(
        "MS-PLAN-FUNCTION",
        f"Spark has no function {name}.",
        fix=_fix(name),
        place=text.place(span[0]) if span else None,
    )


def _fix(name: str) -> str:
    if found := _COLUMNS.get(name.lower()):
        return found
    if near := get_close_matches(name.lower(), sorted(spark_functions()), n=1, cutoff=0.7):
        return f"Did you mean {near[0]}?"
    return (
        "See the functions of Spark SQL. In Python, register your own function first: "
        f'spark.udf.register("{name}", …).'
    )
