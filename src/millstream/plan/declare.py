"""CREATE SOURCE, CREATE TABLE and CREATE SINK become plan nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.errors import PlanError, PropertyError
from millstream.plan.file_sinks import check_file_sink
from millstream.plan.nodes import Column, SinkDef, Source
from millstream.plan.refuse import not_yet
from millstream.sql.properties import Where, check
from millstream.sql.statements import CreateSink, CreateSource, CreateTable, Property
from millstream.suggestions import nearest, same
from millstream.temporal import Malformed, MissingTime, Watermark, parse_span

_LATER_CONNECTORS = ("kafka", "jdbc")
_OWN_SOURCE_PROPERTIES = (
    *("connector", "event.missing", "malformed", "dead_letter.sink"),
    *("idle.timeout", "watermark.every", "watermark.max_ahead"),
)


def source_of(statement: CreateSource) -> Source:
    return source_from(statement, check(Where.SOURCE, statement.properties))


def source_from(
    statement: CreateSource | CreateTable, properties: Mapping[str, Property]
) -> Source:
    connector = _connector(properties, "memory")
    kind = "source" if isinstance(statement, CreateSource) else "table"
    refuse_no_path(kind, statement, connector, properties)
    columns = tuple(Column(column.name, column.type) for column in statement.columns)
    refuse_second_column(statement)
    dead_letter = properties.get("dead_letter.sink")
    return Source(
        name=statement.name,
        columns=columns,
        watermark=_watermark(statement, properties),
        connector=connector,
        options=_options(properties, _OWN_SOURCE_PROPERTIES),
        missing_time=MissingTime(_value(properties, "event.missing", MissingTime.ERROR)),
        malformed=Malformed(_value(properties, "malformed", Malformed.DEAD_LETTER)),
        dead_letter=dead_letter.value if dead_letter else None,
        idle=_idle(properties, statement),
        max_ahead=_max_ahead(properties, statement),
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
            fix="Give the time after which a silent source may be passed over, such as 1m.",
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
        f"'{given.name}' is about the watermark of {statement.name}, which has none.",
        fix="Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS, or leave it out.",
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
    return Watermark(column.name, given.delay, int(every.value) if every else 1)


def refuse_second_column(statement: CreateSource | CreateTable) -> None:
    seen: set[str] = set()
    for column in statement.columns:
        if column.name.lower() in seen:
            raise PlanError(
                "MS-PLAN-DUPLICATE-COLUMN",
                f"{statement.name} has more than one column called {column.name}.",
                place=column.place,
            )
        seen.add(column.name.lower())


def partition_columns(sink: SinkDef) -> tuple[str, ...]:
    """The columns whose values are the folders of a file sink."""
    return tuple(name.strip() for name in sink.option("partition.by").split(",") if name.strip())


def check_partitions(sink: SinkDef, columns: Sequence[str], *, operation: bool) -> None:
    """Rejects unknown partition columns, and files without a column. `operation`: files have a
    column `_OP`."""
    partitions = partition_columns(sink)
    for name in partitions:
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"the sink {sink.name} is partitioned by {name}, which its query does not give.",
                fix=nearest(name, columns),
                place=sink.place,
            )
    if all(any(same(name, column) for name in partitions) for column in columns) and not operation:
        raise PlanError(
            "MS-PLAN-PARTITION",
            f"the sink {sink.name} is partitioned by all its columns, so its files have none.",
            fix="Leave a column out of 'partition.by', or select another one.",
            place=sink.place,
        )


def sink_of(statement: CreateSink) -> SinkDef:
    properties = check(Where.SINK, statement.properties)
    connector = _connector(properties, "memory")
    refuse_no_path("sink", statement, connector, properties)
    options = _options(properties, ("connector",))
    sink = SinkDef(statement.name, connector, options, statement.place)
    if connector == "file":
        check_file_sink(statement, properties, sink)
    return sink


def refuse_no_path(
    kind: str,
    statement: CreateSource | CreateTable | CreateSink,
    connector: str,
    properties: Mapping[str, Property],
) -> None:
    if connector == "file" and "path" not in properties:
        raise missing("path", f"data/{statement.name}", kind, statement, connector)


def missing(
    name: str,
    example: str,
    kind: str,
    statement: CreateSource | CreateTable | CreateSink,
    connector: str,
) -> PropertyError:
    return PropertyError(
        "MS-PROP-MISSING",
        f"the {kind} {statement.name} does not say its '{name}', which '{connector}' needs.",
        fix=f"Add '{name}' = '{example}'.",
        place=statement.place,
    )


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
