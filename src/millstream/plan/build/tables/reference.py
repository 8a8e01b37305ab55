"""Builds reference tables: CREATE TABLE without event time.

A table whose connector supports lookups is looked up by key, or, with 'table.mode' = 'broadcast',
broadcast; any other table is always broadcast. A primary key is optional.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.connector_properties import validate_properties
from millstream.plan.build.declarations import reject_duplicate_columns
from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec, Role
from millstream.plan.nodes import Broadcast, Column, ReferenceTable
from millstream.sql.properties import PROPERTIES, PropertyOwner
from millstream.sql.statements import CreateTable, Property
from millstream.suggestions import nearest, same
from millstream.temporal import parse_span
from millstream.values import Lookup, OnError


def is_reference_table(statement: CreateTable) -> bool:
    """Tests whether a table has neither a watermark nor a changelog, so that it has no versions."""
    has_changelog = any(item.name.lower() == "changelog.op" for item in statement.properties)
    return statement.watermark is None and not has_changelog


def build_reference_table(statement: CreateTable, registry: ConnectorRegistry) -> ReferenceTable:
    _reject_stream_connector(statement, registry)
    checked = validate_properties(statement, Role.TABLE, registry)
    properties, spec = checked.properties, checked.spec
    reject_duplicate_columns(statement)
    lookup = _is_lookup(properties, spec)
    reject_unused_table_properties(properties, statement, spec, lookup=lookup)
    return ReferenceTable(
        name=statement.name,
        columns=tuple(Column(column.name, column.type) for column in statement.columns),
        primary_key=tuple(find_column(name, statement) for name in statement.primary_key),
        connector=spec.name,
        options=checked.options,
        access=_read_lookup(properties) if lookup else _read_broadcast(properties),
        place=statement.place,
    )


def find_column(name: str, statement: CreateTable, what: str = "the primary key") -> str:
    known = [column.name for column in statement.columns]
    found = next((column for column in known if same(column, name)), None)
    if found is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"{what} uses {name}, which is not a column of {statement.name}.",
            fix=nearest(name, known),
            place=statement.place,
        )
    return found


def _reject_stream_connector(statement: CreateTable, registry: ConnectorRegistry) -> None:
    item = next((each for each in statement.properties if each.name == "connector"), None)
    spec = registry.get(item.value.lower()) if item else None
    if item and spec and spec.has_role(Role.SOURCE) and not spec.has_role(Role.TABLE):
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {statement.name} has no WATERMARK, and the connector '{spec.name}' reads a "
            "stream, which does not support lookups.",
            fix="Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS: its rows are then "
            "versions.",
            place=item.value_place,
        )


def _is_lookup(properties: Mapping[str, Property], spec: ConnectorSpec) -> bool:
    mode = properties.get("table.mode")
    if spec.lookup:
        return mode is None or mode.value.lower() == "lookup"
    if mode is not None and mode.value.lower() == "lookup":
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'table.mode' is 'lookup', and '{spec.name}' does not support lookups.",
            fix="Remove it: the table is broadcast to every worker.",
            place=mode.value_place,
        )
    return False


def _read_lookup(properties: Mapping[str, Property]) -> Lookup:
    default = Lookup()
    on_error = properties.get("lookup.on_error")
    return Lookup(
        cache_rows=_number(properties, "lookup.cache.rows", default.cache_rows),
        cache_ttl=_span(properties, "lookup.cache.ttl", default.cache_ttl),
        capacity=_number(properties, "lookup.async_capacity", default.capacity),
        batch=_number(properties, "lookup.batch", default.batch),
        timeout=_span(properties, "lookup.timeout", default.timeout),
        retries=_number(properties, "lookup.retries", default.retries),
        on_error=OnError(on_error.value.lower()) if on_error else default.on_error,
    )


def _read_broadcast(properties: Mapping[str, Property]) -> Broadcast:
    default, every = Broadcast(), properties.get("refresh.interval")
    on = properties["refresh.on"].value.lower() if "refresh.on" in properties else ""
    return Broadcast(
        interval=parse_span(every.value) if every else None,
        watch=on == "change",
        command=on == "command",
        max_rows=_number(properties, "broadcast.max_rows", default.max_rows),
        max_bytes=_number(properties, "broadcast.max_bytes", default.max_bytes),
    )


def _number(properties: Mapping[str, Property], name: str, default: int) -> int:
    return int(properties[name].value) if name in properties else default


def _span(properties: Mapping[str, Property], name: str, default: int) -> int:
    return parse_span(properties[name].value) if name in properties else default


def reject_unused_table_properties(
    properties: Mapping[str, Property], statement: CreateTable, spec: ConnectorSpec, *, lookup: bool
) -> None:
    """Rejects properties that do not apply to a table without event time."""
    known = {"connector", "table.mode"}
    for name, item in properties.items():
        if name in known or name not in PROPERTIES[PropertyOwner.TABLE]:
            continue
        why = _why_unused(name, properties, spec, lookup=lookup)
        if why:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' does not apply to the table {statement.name}: {why}.",
                fix=_FIXES.get(name, "Remove it."),
                place=item.place,
            )


_FIXES = {
    "dead_letter.sink": "Add 'lookup.on_error' = 'side_output', or remove it.",
    "refresh.on": "Write 'refresh.interval' = '10m' or 'refresh.on' = 'command', or remove it.",
}


def _why_unused(
    name: str, properties: Mapping[str, Property], spec: ConnectorSpec, *, lookup: bool
) -> str:
    """Returns why a property does not apply to a table, or an empty string if it does."""
    why = "the table is not read as a stream"
    if name.startswith("lookup."):
        why = (
            _why_unused_by_lookup(name, properties)
            if lookup
            else "the table is broadcast to every worker"
        )
    elif name.startswith(("refresh.", "broadcast.")):
        why = (
            "the table is looked up by key, not broadcast"
            if lookup
            else _why_unused_by_broadcast(name, properties[name].value, spec)
        )
    elif name == "dead_letter.sink":
        on_error = properties.get("lookup.on_error")
        aside = on_error is not None and on_error.value.lower() == OnError.SIDE_OUTPUT
        why = "" if lookup and aside else "no failed lookup is written to a sink"
    elif name in ("event.missing", "idle.timeout", "watermark.every", "watermark.max_ahead"):
        why = "the table has no event time"
    return why


def _why_unused_by_lookup(name: str, properties: Mapping[str, Property]) -> str:
    cached = properties.get("lookup.cache.rows")
    nothing = cached is not None and int(cached.value) == 0
    return "the cache is disabled" if name == "lookup.cache.ttl" and nothing else ""


def _why_unused_by_broadcast(name: str, value: str, spec: ConnectorSpec) -> str:
    if name.startswith("refresh.") and not spec.refreshable:
        return "its rows are passed when the job starts"
    if name == "refresh.on" and value.lower() == "change" and not spec.watchable:
        return f"the connector {spec.name} cannot detect changes"
    return ""
