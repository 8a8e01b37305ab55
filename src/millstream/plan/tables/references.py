"""CREATE TABLE without event time: a table that rows are looked up in.

connector              access
file, memory           held whole by every worker
postgresql, sqlite     asked for keys; with 'table.mode' = 'broadcast', held whole
jdbc                   one of these two, by its 'url'

A primary key is of use, not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from millstream.errors import PlanError, PropertyError
from millstream.plan.declare import missing, refuse_no_path, refuse_second_column
from millstream.plan.nodes import Broadcast, Column, Reference
from millstream.plan.tables.uses import OPTIONS, refuse_unused
from millstream.sql.properties import Where, check
from millstream.sql.statements import CreateTable, Property
from millstream.suggestions import nearest, same
from millstream.temporal import parse_span
from millstream.values import Lookup, OnError

_DATABASES = ("postgresql", "sqlite")
_URLS = {"postgresql://": "postgresql", "postgres://": "postgresql", "sqlite:": "sqlite"}


def is_reference(statement: CreateTable) -> bool:
    """A table with a watermark, or that is told as changes, has versions instead."""
    told = any(item.name.lower() == "changelog.op" for item in statement.properties)
    return statement.watermark is None and not told


def reference_of(statement: CreateTable) -> Reference:
    properties = check(Where.TABLE, statement.properties)
    refuse_second_column(statement)
    connector = _connector(properties, statement)
    lookup = _is_lookup(properties, connector)
    refuse_unused(properties, statement, connector, lookup=lookup)
    return Reference(
        name=statement.name,
        columns=tuple(Column(column.name, column.type) for column in statement.columns),
        primary_key=tuple(column_of(name, statement) for name in statement.primary_key),
        connector=connector,
        options=tuple(_options(properties, statement, connector)),
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


def _connector(properties: Mapping[str, Property], statement: CreateTable) -> str:
    item = properties.get("connector")
    connector = item.value.lower() if item else "memory"
    if connector == "jdbc":
        return _by_url(properties, statement)
    if connector not in OPTIONS:
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {statement.name} has no WATERMARK, and '{connector}' is a stream: its rows "
            "come and cannot be looked up.",
            fix="Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS: its rows are then "
            "versions.",
            place=item.value_place if item else statement.place,
        )
    return connector


def _by_url(properties: Mapping[str, Property], statement: CreateTable) -> str:
    url = properties.get("url")
    if url is None:
        raise missing("url", "jdbc:postgresql://host:5432/database", "table", statement, "jdbc")
    written = url.value.lower().removeprefix("jdbc:")
    for prefix, connector in _URLS.items():
        if written.startswith(prefix):
            return connector
    raise PropertyError(
        "MS-PROP-VALUE",
        f"the table {statement.name} has a 'url' of a database that cannot be asked.",
        fix="It begins with jdbc:postgresql:// or jdbc:sqlite:.",
        place=url.value_place,
    )


def _is_lookup(properties: Mapping[str, Property], connector: str) -> bool:
    mode = properties.get("table.mode")
    if connector in _DATABASES:
        return mode is None or mode.value.lower() == "lookup"
    if mode is not None and mode.value.lower() == "lookup":
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'table.mode' is 'lookup', and '{connector}' is no database that could be asked.",
            fix="Leave it out: every worker holds the table whole.",
            place=mode.value_place,
        )
    return False


def _options(
    properties: Mapping[str, Property], statement: CreateTable, connector: str
) -> Iterator[tuple[str, str]]:
    """What its connector is told. A database is told the table's name, if it has no other there;
    SQLite where its file is, whether by a path or a URL."""
    found = {name: properties[name].value for name in OPTIONS[connector] if name in properties}
    if connector == "postgresql" and "url" not in found:
        raise missing("url", "postgresql://host:5432/database", "table", statement, connector)
    refuse_no_path("table", statement, connector, properties)
    if connector == "sqlite":
        _refuse_two_places(properties, statement)
        url = found.pop("url", None)
        path = found.get("path") or (_path_of(url) if url else "")
        if not path:
            raise missing("path", "customers.db", "table", statement, connector)
        found["path"] = path
    if connector in _DATABASES:
        found.setdefault("table", statement.name)
    yield from found.items()


def _refuse_two_places(properties: Mapping[str, Property], statement: CreateTable) -> None:
    if "path" in properties and "url" in properties:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"'path' and 'url' both say where the database of the table {statement.name} is.",
            fix="Leave one of the two out.",
            place=properties["url"].place,
        )


def _path_of(url: str) -> str:
    rest = url.removeprefix("jdbc:").removeprefix("sqlite:")
    return rest.removeprefix("//").removeprefix("/") if rest.startswith("///") else rest


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
