"""Builds plan nodes from CREATE SOURCE, CREATE TABLE and CREATE SINK."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PlanError
from millstream.plan.build.connector_properties import ConnectorProperties, validate_properties
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.nodes import Column, SinkDef, Source
from millstream.sql.statements import (
    ColumnDef,
    ComputedColumn,
    CreateSink,
    CreateSource,
    CreateTable,
    Property,
)
from millstream.suggestions import nearest, same
from millstream.temporal import MalformedAction, MissingTime, Watermark, parse_span


def build_source(statement: CreateSource, registry: ConnectorRegistry) -> Source:
    return build_source_from(statement, validate_properties(statement, Role.SOURCE, registry))


def build_source_from(
    statement: CreateSource | CreateTable, checked: ConnectorProperties
) -> Source:
    properties = checked.properties
    columns = tuple(Column(column.name, column.type) for column in statement.columns)
    reject_duplicate_columns(statement)
    dead_letter = properties.get("dead_letter.sink")
    return Source(
        name=statement.name,
        columns=columns,
        watermark=_watermark(statement, properties),
        connector=checked.spec.name,
        options=checked.options,
        missing_time=MissingTime(_value(properties, "event.missing", MissingTime.ERROR)),
        malformed=MalformedAction(_value(properties, "malformed", MalformedAction.DEAD_LETTER)),
        dead_letter=dead_letter.value if dead_letter else None,
        idle=_idle(properties, statement),
        max_ahead=_max_ahead(properties, statement),
        retracts=checked.retracts,
        # The old value of a row would have the position and time of its change, not its own.
        system_columns=() if checked.retracts else checked.spec.system_columns,
        place=statement.place,
    )


def _idle(properties: Mapping[str, Property], statement: CreateSource | CreateTable) -> int | None:
    given = properties.get("idle.timeout")
    if given is None:
        return None
    if statement.watermark is None:
        raise _without_watermark(given, statement)
    timeout = parse_span(given.value)
    if timeout == 0:
        raise PlanError(
            "MS-PLAN-IDLE",
            f"with 'idle.timeout' = '{given.value}', {statement.name} would always be idle.",
            fix="Set the time without rows after which the source is idle, such as 1m.",
            place=given.value_place,
        )
    return timeout


def _max_ahead(
    properties: Mapping[str, Property], statement: CreateSource | CreateTable
) -> int | None:
    given = properties.get("watermark.max_ahead")
    if given is None:
        return None
    if statement.watermark is None:
        raise _without_watermark(given, statement)
    return 0 if given.value.lower() == "off" else parse_span(given.value)


def _without_watermark(given: Property, statement: CreateSource | CreateTable) -> PlanError:
    return PlanError(
        "MS-PLAN-NO-WATERMARK",
        f"'{given.name}' needs a watermark, and {statement.name} has none.",
        fix="Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS, or "
        f"remove '{given.name}'.",
        place=given.place,
    )


def _watermark(
    statement: CreateSource | CreateTable, properties: Mapping[str, Property]
) -> Watermark | None:
    given, every = statement.watermark, properties.get("watermark.every")
    if given is None:
        if every is not None:
            raise _without_watermark(every, statement)
        return None
    computed = statement.computed if isinstance(statement, CreateSource) else ()
    for item in computed:
        if same(item.name, given.column):
            return Watermark(item.name, given.delay, int(every.value) if every else 1)
    column = next((c for c in statement.columns if same(c.name, given.column)), None)
    if column is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-COLUMN",
            f"the watermark uses {given.column}, which is not a column of {statement.name}.",
            fix=nearest(given.column, [c.name for c in statement.columns]),
            place=given.place,
        )
    if not column.type.upper().startswith("TIMESTAMP"):
        raise PlanError(
            "MS-PLAN-TIME-TYPE",
            f"the watermark column {column.name} has the type {column.type}, not TIMESTAMP.",
            fix=f"Declare {column.name} TIMESTAMP.",
            place=given.place,
        )
    return Watermark(column.name, given.delay, int(every.value) if every else 1)


def reject_duplicate_columns(statement: CreateSource | CreateTable) -> None:
    seen: set[str] = set()
    computed = statement.computed if isinstance(statement, CreateSource) else ()
    columns: tuple[ColumnDef | ComputedColumn, ...] = (*statement.columns, *computed)
    for column in columns:
        if column.name.lower() in seen:
            raise PlanError(
                "MS-PLAN-DUPLICATE-COLUMN",
                f"{statement.name} has more than one column named {column.name}.",
                place=column.place,
            )
        seen.add(column.name.lower())


def build_sink_definition(statement: CreateSink, registry: ConnectorRegistry) -> SinkDef:
    checked = validate_properties(statement, Role.SINK, registry)
    return SinkDef(statement.name, checked.spec.name, checked.options, statement.place)


def _value(properties: Mapping[str, Property], name: str, default: str) -> str:
    return properties[name].value.lower() if name in properties else default
