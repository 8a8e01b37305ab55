"""Resolves system columns: columns that a stream has besides its declared columns.

Some are added below when a query reads them: those of a source, such as the modification time of a
file or the offset of a record, and the event time of a window's result if its query does not select
it.

The processing time of a row is the time of its micro-batch in Spark's offset log, so that a retried
batch has the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, column, template
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import (
    OP,
    WINDOW_TIME,
    Column,
    Output,
    Select,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.plan.nodes.traversal import Stateless
from millstream.plan.reject import not_supported
from millstream.suggestions import same

EVENT_TIME, TIMESTAMP = "_event_time", "_timestamp"
WINDOW_COLUMNS = ("_window_start", "_window_end")
# Columns that the connector of a source may declare, with their types.
_SOURCE_COLUMNS = {
    TIMESTAMP: "TIMESTAMP",
    "_partition": "INT",
    "_offset": "BIGINT",
    "_key": "BINARY",
    "_headers": "MAP<STRING, BINARY>",
    OP: "STRING",
}
_RECORD_COLUMNS = tuple(name for name in _SOURCE_COLUMNS if name not in (TIMESTAMP, OP))
PROCESSING_TIME, SOURCE = "_processing_time", "_source"
# Columns that every source has. If the connector has no `_timestamp`, it is the processing time.
_EVERY_SOURCE = {TIMESTAMP: "TIMESTAMP", PROCESSING_TIME: "TIMESTAMP", SOURCE: "STRING"}
_TYPES = _EVERY_SOURCE | _SOURCE_COLUMNS


def time_of(node: Source | Select) -> str | None:
    """Returns the event time of a stream: a column, or the window time, which can be added."""
    if node.time is not None:
        return node.time
    return WINDOW_TIME if isinstance(node, Select) and _has_window_time(node) else None


def _has_window_time(node: Select) -> bool:
    """Returns whether the time of a window's result can be added here."""
    if any(same(each.name, WINDOW_TIME) for each in node.columns):
        return False
    below = node.input
    if isinstance(below, Select):
        return below.time is None and _has_window_time(below)
    if isinstance(below, TableJoin):
        return time_of(below.left.node) == WINDOW_TIME
    if isinstance(below, Source | UnionAll):
        return False
    return kind_of(below).has_window_time(below)


def source_column_type(name: str) -> str:
    """Returns the type of a system column that a connector declares."""
    return _SOURCE_COLUMNS[name]


def system_column(node: Source | Select, name: str) -> Column | None:
    """Returns the column of a system column's name, if the stream has it."""
    lower = name.lower()
    known = {each.name: each for each in node.columns}
    time = time_of(node)
    if time and (lower == EVENT_TIME or lower == time == WINDOW_TIME):
        return known.get(time, Column(time, "TIMESTAMP"))
    if isinstance(node, Select) and node.window and lower in WINDOW_COLUMNS:
        return known[node.window[WINDOW_COLUMNS.index(lower)]]
    source = source_of(node)
    if source is not None and _has(source, lower):
        return Column(lower, _TYPES[lower])
    return None


def source_of(node: Source | Select) -> Source | None:
    """Returns the source that a stream is, possibly with more columns."""
    while isinstance(node, Select) and node.is_source:
        assert isinstance(node.input, Source | Select)
        node = node.input
    return node if isinstance(node, Source) else None


def _has(source: Source, name: str) -> bool:
    if source.retracts:  # a row and its retraction are read at different times
        return name == SOURCE
    return name in _EVERY_SOURCE or (name in _TYPES and name in dict(source.system_columns))


def with_system_columns(node: Source | Select, names: Collection[str | None]) -> Source | Select:
    """Returns the stream with those of the named system columns added that it can have."""
    missing = set(names) - {each.name for each in node.columns}
    if (source := source_of(node)) is not None:
        hidden = [name for name in _TYPES if name in missing and _has(source, name)]
        return _with_columns_of_source(node, hidden) if hidden else node
    if isinstance(node, Select) and WINDOW_TIME in missing and time_of(node) == WINDOW_TIME:
        return _with_window_time(node)
    return node


def _with_columns_of_source(node: Source | Select, names: Sequence[str]) -> Select:
    if isinstance(node, Source):
        own = tuple(Output(column(node.name, c.name, c.type), c.name) for c in node.columns)
        node = Select(node, own, alias=node.name, time=node.time, place=node.place, is_source=True)
    below = node.input
    if isinstance(below, Source):
        added = [Output(_value(below, name), name) for name in names]
    else:
        assert isinstance(below, Select)
        below = with_system_columns(below, names)
        added = [Output(column(node.alias, name, _TYPES[name]), name) for name in names]
    return replace(node, input=below, outputs=(*node.outputs, *added))


def _value(source: Source, name: str) -> Expression:
    """Returns the value of a system column in the rows of a source."""
    declared = dict(source.system_columns)
    if name in declared:
        return column(source.name, declared[name], _TYPES[name])
    if name == SOURCE:
        return template(f"'{source.name}'", kind=_TYPES[name])
    return template("current_timestamp()", kind=_TYPES[name])


def _with_window_time(node: Select) -> Select:
    below = node.input
    alias = None
    if isinstance(below, Select):
        below = _with_window_time(below)
        alias = node.alias
    elif isinstance(below, TableJoin):
        alias = below.left.alias
        stream = with_system_columns(below.left.node, {WINDOW_TIME})
        side = replace(below.left, node=stream, time=WINDOW_TIME, delay=watermark_delay_of(stream))
        if WINDOW_TIME not in side.used:
            side = replace(side, used=(*side.used, WINDOW_TIME))
        below = replace(below, left=side)
    time = column(alias, WINDOW_TIME, "TIMESTAMP")
    if not isinstance(below, Stateless):
        below, time = kind_of(below).with_window_time(below)
    outputs = (*node.outputs, Output(time, WINDOW_TIME))
    return replace(node, input=below, outputs=outputs, time=WINDOW_TIME)


def missing_system_column_error(
    name: str, node: Source | Select, place: Place | None
) -> PlanError | None:
    """Returns an error if the name is a system column that the stream does not have, or None."""
    lower = name.lower()
    node = source_of(node) or node
    if lower in WINDOW_COLUMNS or lower == WINDOW_TIME:
        return PlanError(
            "MS-PLAN-WINDOW-COLUMN",
            f"{name} exists only after windows are assigned, which is not the case here.",
            fix="Add WINDOW to the query; HAVING is evaluated after windows, WHERE before."
            if isinstance(node, Source)
            else "Select _WINDOW_START and _WINDOW_END in the query below.",
            place=place,
        )
    if lower in (*_EVERY_SOURCE, *_RECORD_COLUMNS) and not isinstance(node, Source):
        return PlanError(
            "MS-PLAN-SYSTEM-COLUMN",
            f"{name} is a column of sources, and here the input is a query.",
            fix=f"Select {name} in that query.",
            place=place,
        )
    if isinstance(node, Source) and lower in (*_EVERY_SOURCE, *_RECORD_COLUMNS):
        return PlanError(
            "MS-PLAN-SYSTEM-COLUMN",
            f"{name} is a system column of records and changes, and the source {node.name} does "
            "not have it.",
            fix="Declare the column _OP STRING in it, so that changes are ordinary rows."
            if node.retracts
            else "Remove it.",
            place=place,
        )
    return not_supported(f"the system column {name}", place) if lower == "_op" else None
