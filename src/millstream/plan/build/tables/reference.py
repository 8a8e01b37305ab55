"""CREATE TABLE without event time: a table that rows are looked up in.

A connector that declares a lookup is asked for keys, or, with 'table.mode' = 'broadcast', read
whole and broadcast; any other is always broadcast. A primary key is optional.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.connector_properties import check_statement
from millstream.plan.build.declarations import refuse_second_column
from millstream.plan.build.tables.unused_properties import refuse_unused
from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec, Role
from millstream.plan.nodes import Broadcast, Column, Reference
from millstream.sql.statements import CreateTable, Property
from millstream.suggestions import nearest, same
from millstream.temporal import parse_span
from millstream.values import Lookup, OnError


def is_reference(statement: CreateTable) -> bool:
    """A table with a watermark, or that is told as changes, has versions instead."""
    told = any(item.name.lower() == "changelog.op" for item in statement.properties)
    return statement.watermark is None and not told


def reference_of(statement: CreateTable, registry: ConnectorRegistry) -> Reference:
    _refuse_stream(statement, registry)
    checked = check_statement(statement, Role.TABLE, registry)
    properties, spec = checked.properties, checked.spec
    refuse_second_column(statement)
    lookup = _is_lookup(properties, spec)
    refuse_unused(properties, statement, spec, lookup=lookup)
    return Reference(
        name=statement.name,
        columns=tuple(Column(column.name, column.type) for column in statement.columns),
        primary_key=tuple(column_of(name, statement) for name in statement.primary_key),
        connector=spec.name,
        options=checked.options,
        access=_lookup(properties) if lookup else _broadcast(properties),
        place=statement.place,
    )


def column_of(name: str, statement: CreateTable, what: str = "the primary key") -> str:
    known = [column.name for column in statement.columns]
    found = next((column for column in known if same(column, name)), None)
    if found is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"{statement.name} has no column {name}, which {what} names.",
            fix=nearest(name, known),
            place=statement.place,
        )
    return found


def _refuse_stream(statement: CreateTable, registry: ConnectorRegistry) -> None:
    item = next((each for each in statement.properties if each.name == "connector"), None)
    spec = registry.get(item.value.lower()) if item else None
    if item and spec and spec.has(Role.SOURCE) and not spec.has(Role.TABLE):
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {statement.name} has no WATERMARK, and '{spec.name}' is a stream: its rows "
            "come and cannot be looked up.",
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
            f"'table.mode' is 'lookup', and '{spec.name}' is no database that could be asked.",
            fix="Leave it out: every worker holds the table whole.",
            place=mode.value_place,
        )
    return False


def _lookup(properties: Mapping[str, Property]) -> Lookup:
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


def _broadcast(properties: Mapping[str, Property]) -> Broadcast:
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
