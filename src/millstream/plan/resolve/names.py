"""Names: how they are quoted, and how errors call those that a query does not give."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import Place
from millstream.plan.expressions.quoting import quote

__all__ = ["IN_FROM", "unused_name", "query_phrase", "quote", "unnamed_query_phrase"]


def literal(value: str) -> str:
    """The value as a text of SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def unused_name(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores added until no column in `taken` has it."""
    known = {each.lower() for each in taken}
    while name.lower() in known:
        name += "_"
    return name


IN_FROM = "the query in FROM"


def unnamed_query_phrase(place: Place | None) -> str:
    """What errors call a query in FROM that has no alias."""
    return f"{IN_FROM} (line {place.line}, column {place.column})" if place else IN_FROM


def query_phrase(name: str) -> str:
    """The query that a stream is made by."""
    return name if name.startswith(IN_FROM) else f"the query of {name}"
