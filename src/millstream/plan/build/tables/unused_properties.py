"""Which properties mean something to a table that rows are looked up in."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorSpec
from millstream.sql.properties import PROPERTIES, Where
from millstream.sql.statements import CreateTable, Property
from millstream.values import OnError


def refuse_unused(
    properties: Mapping[str, Property], statement: CreateTable, spec: ConnectorSpec, *, lookup: bool
) -> None:
    """Rejects properties of Millstream that a table without event time has no use for."""
    known = {"connector", "table.mode"}
    for name, item in properties.items():
        if name in known or name not in PROPERTIES[Where.TABLE]:
            continue
        why = _why_unused(name, properties, spec, lookup=lookup)
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
    name: str, properties: Mapping[str, Property], spec: ConnectorSpec, *, lookup: bool
) -> str:
    """Why a property means nothing to a table; empty if it does."""
    why = "it is read as it is, not as a stream"
    if name.startswith("lookup."):
        why = _lookup(name, properties) if lookup else "every worker holds it whole"
    elif name.startswith(("refresh.", "broadcast.")):
        why = (
            "it is asked as it is, and not held"
            if lookup
            else _held(name, properties[name].value, spec)
        )
    elif name == "dead_letter.sink":
        on_error = properties.get("lookup.on_error")
        aside = on_error is not None and on_error.value.lower() == OnError.SIDE_OUTPUT
        why = "" if lookup and aside else "no row is set aside"
    elif name in ("event.missing", "idle.timeout", "watermark.every", "watermark.max_ahead"):
        why = "it has no event time"
    return why


def _lookup(name: str, properties: Mapping[str, Property]) -> str:
    cached = properties.get("lookup.cache.rows")
    nothing = cached is not None and int(cached.value) == 0
    return "nothing is remembered" if name == "lookup.cache.ttl" and nothing else ""


def _held(name: str, value: str, spec: ConnectorSpec) -> str:
    if name.startswith("refresh.") and not spec.refreshable:
        return "its rows are given when the job starts"
    if name == "refresh.on" and value.lower() == "change" and not spec.watchable:
        return f"changes of a table in {spec.name} are not known without reading it"
    return ""
