"""CREATE SOURCE and CREATE SINK become plan nodes."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PlanError
from millstream.plan.names import nearest, same
from millstream.plan.nodes import Column, SinkDef, Source
from millstream.plan.refuse import not_yet
from millstream.sql.properties import Where, check
from millstream.sql.statements import CreateSink, CreateSource, Property
from millstream.temporal import Malformed, MissingTime, Watermark

_LATER_CONNECTORS = ("kafka", "jdbc")
_OWN_SOURCE_PROPERTIES = ("connector", "event.missing", "malformed", "dead_letter.sink")


def source_of(statement: CreateSource) -> Source:
    properties = check(Where.SOURCE, statement.properties)
    connector = _connector(properties, "memory")
    if idle := properties.get("idle.timeout"):
        raise not_yet("'idle.timeout'", idle.place)
    columns = tuple(Column(column.name, column.type) for column in statement.columns)
    _refuse_second_column(statement)
    dead_letter = properties.get("dead_letter.sink")
    return Source(
        name=statement.name,
        columns=columns,
        watermark=_watermark(statement),
        connector=connector,
        options=_options(properties, _OWN_SOURCE_PROPERTIES),
        missing_time=MissingTime(_value(properties, "event.missing", MissingTime.ERROR)),
        malformed=Malformed(_value(properties, "malformed", Malformed.DEAD_LETTER)),
        dead_letter=dead_letter.value if dead_letter else None,
        place=statement.place,
    )


def _watermark(statement: CreateSource) -> Watermark | None:
    given = statement.watermark
    if given is None:
        return None
    column = next((c for c in statement.columns if same(c.name, given.column)), None)
    if column is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"{statement.name} has no column {given.column}, which the watermark names.",
            fix=nearest(given.column, [c.name for c in statement.columns]),
            place=given.place,
        )
    if not column.type.upper().startswith("TIMESTAMP"):
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"the watermark's column {column.name} is {column.type}, not TIMESTAMP.",
            fix=f"Declare {column.name} TIMESTAMP.",
            place=given.place,
        )
    return Watermark(column.name, given.delay)


def _refuse_second_column(statement: CreateSource) -> None:
    seen: set[str] = set()
    for column in statement.columns:
        if column.name.lower() in seen:
            raise PlanError(
                "MS-PLAN-DUPLICATE-COLUMN",
                f"{statement.name} has more than one column called {column.name}.",
                place=column.place,
            )
        seen.add(column.name.lower())


def sink_of(statement: CreateSink) -> SinkDef:
    properties = check(Where.SINK, statement.properties)
    connector = _connector(properties, "memory")
    return SinkDef(statement.name, connector, _options(properties, ("connector",)), statement.place)


def _connector(properties: Mapping[str, Property], default: str) -> str:
    item = properties.get("connector")
    if item and item.value.lower() in _LATER_CONNECTORS:
        raise not_yet(f"the connector {item.value.lower()}", item.value_place)
    return item.value.lower() if item else default


def _value(properties: Mapping[str, Property], name: str, default: str) -> str:
    return properties[name].value.lower() if name in properties else default


def _options(
    properties: Mapping[str, Property], own: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    return tuple((name, item.value) for name, item in properties.items() if name not in own)
