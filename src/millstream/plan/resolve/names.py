"""Quotes names, chooses unused names, and names unnamed queries in errors."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import Place
from millstream.plan.expressions.spark_sql import quote

__all__ = ["IN_FROM", "query_phrase", "quote", "unnamed_query_phrase", "unused_name"]


def literal(value: str) -> str:
    """Returns the value as an SQL string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Returns the name, with underscores appended until it is not in `taken`."""
    known = {each.lower() for each in taken}
    while name.lower() in known:
        name += "_"
    return name


IN_FROM = "the query in FROM"


def unnamed_query_phrase(place: Place | None) -> str:
    """Returns the name in errors of a query in FROM without an alias."""
    return f"{IN_FROM} (line {place.line}, column {place.column})" if place else IN_FROM


def query_phrase(name: str) -> str:
    """Returns a phrase for the query that computes a stream."""
    return name if name.startswith(IN_FROM) else f"the query of {name}"
