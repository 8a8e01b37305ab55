"""Which properties mean something to a table that rows are looked up in."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PropertyError
from millstream.sql.statements import CreateTable, Property
from millstream.values import OnError

_FILE_OPTIONS = (
    *("path", "format", "header", "delimiter", "timestamp.format", "compression"),
    *("quote", "escape", "multiline", "trim", "null.value", "encoding"),
)
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "file": _FILE_OPTIONS,
    "memory": (),
    "postgresql": ("url", "table", "user", "password"),
    "sqlite": ("url", "path", "table"),
}


def refuse_unused(
    properties: Mapping[str, Property], statement: CreateTable, connector: str, *, lookup: bool
) -> None:
    known = {"connector", "table.mode", *OPTIONS[connector]}
    for name, item in properties.items():
        if name in known:
            continue
        why = _why_unused(name, properties, connector, lookup=lookup)
        if why:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' has no use for the table {statement.name}: {why}.",
                fix=_FIXES.get(name, "Leave it out."),
                place=item.place,
            )


_FIXES = {
    "dead_letter.sink": "Add 'lookup.on_error' = 'side_output', or leave it out.",
    "refresh.on": "Write 'refresh.interval' = '10m' or 'refresh.on' = 'command', or leave it out.",
}


def _why_unused(
    name: str, properties: Mapping[str, Property], connector: str, *, lookup: bool
) -> str:
    """Why a property means nothing to a table; empty if it does."""
    why = "it is read as it is, not as a stream"
    if name.startswith("lookup."):
        why = _lookup(name, properties) if lookup else "every worker holds it whole"
    elif name.startswith(("refresh.", "broadcast.")):
        why = (
            "it is asked as it is, and not held"
            if lookup
            else _held(name, properties[name].value, connector)
        )
    elif name == "dead_letter.sink":
        on_error = properties.get("lookup.on_error")
        aside = on_error is not None and on_error.value.lower() == OnError.SIDE_OUTPUT
        why = "" if lookup and aside else "no row is set aside"
    elif name in ("event.missing", "idle.timeout", "watermark.every", "watermark.max_ahead"):
        why = "it has no event time"
    elif any(name in options for options in OPTIONS.values()) or name in ("topic", "driver"):
        why = f"it is not for '{connector}'"
    return why


def _lookup(name: str, properties: Mapping[str, Property]) -> str:
    cached = properties.get("lookup.cache.rows")
    nothing = cached is not None and int(cached.value) == 0
    return "nothing is remembered" if name == "lookup.cache.ttl" and nothing else ""


def _held(name: str, value: str, connector: str) -> str:
    if name.startswith("refresh.") and connector == "memory":
        return "its rows are given when the job starts"
    watched = value.lower() == "change"
    if name == "refresh.on" and watched and connector != "file":
        return f"only files are watched, and this is {connector}"
    return ""
