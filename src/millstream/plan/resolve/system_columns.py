"""Resolves system columns: columns that a stream has besides its declared columns.

Some are added below when a query reads them: those that the connector of a source declares, such as
the modification time of a file or the offset of a record, and the event time of a window's result
if its query does not select it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from millstream.errors import Place, PlanError
from millstream.plan.expressions import column, template
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import WINDOW_TIME, Column, Output, Select, Source, TableJoin, UnionAll
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
}
_RECORD_COLUMNS = tuple(name for name in _SOURCE_COLUMNS if name != TIMESTAMP)


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


def system_column(node: Source | Select, name: str) -> Column | None:
    """Returns the column of a system column's name, if the stream has it."""
    lower = name.lower()
    known = {each.name: each for each in node.columns}
    time = time_of(node)
    if time and (lower == EVENT_TIME or lower == time == WINDOW_TIME):
        return known.get(time, Column(time, "TIMESTAMP"))
    if isinstance(node, Select) and node.window and lower in WINDOW_COLUMNS:
        return known[node.window[WINDOW_COLUMNS.index(lower)]]
    if isinstance(node, Source) and lower in _SOURCE_COLUMNS and lower in dict(node.system_columns):
        return Column(lower, _SOURCE_COLUMNS[lower])
    return None


def with_system_columns(node: Source | Select, names: Collection[str | None]) -> Source | Select:
    """Returns the stream with those of the named system columns added that it can have."""
    missing = set(names) - {each.name for each in node.columns}
    if isinstance(node, Source):
        hidden = [name for name, _ in node.system_columns if name in missing]
        return _with_system_columns(node, hidden) if hidden else node
    if WINDOW_TIME in missing and time_of(node) == WINDOW_TIME:
        return _with_window_time(node)
    return node


def _with_system_columns(source: Source, names: Sequence[str]) -> Select:
    outputs = [Output(column(source.name, c.name, c.type), c.name) for c in source.columns]
    for system in names:
        kind = _SOURCE_COLUMNS[system]
        # A column, or a field of a struct column: "_metadata.file_modification_time".
        name, _, field = dict(source.system_columns)[system].partition(".")
        read = column(source.name, name, kind)
        if field:
            read = template(f"{{}}.{field}", column(source.name, name), kind=kind)
        outputs.append(Output(read, system))
    return Select(source, tuple(outputs), alias=source.name, time=source.time, place=source.place)


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
    stream = f"the source {node.name}" if isinstance(node, Source) else "a query"
    if lower in WINDOW_COLUMNS or lower == WINDOW_TIME:
        return PlanError(
            "MS-PLAN-WINDOW-COLUMN",
            f"{name} exists only after windows are assigned, which is not the case here.",
            fix="Add WINDOW to the query; HAVING is evaluated after windows, WHERE before."
            if isinstance(node, Source)
            else "Select _WINDOW_START and _WINDOW_END in the query below.",
            place=place,
        )
    if lower == TIMESTAMP:
        by = f" by '{node.connector}'" if isinstance(node, Source) else ""
        return PlanError(
            "MS-PLAN-SYSTEM-COLUMN",
            f"{name} is the modification time of the file of a row, but {stream} is read{by}."
            if by
            else f"{name} is a column of sources, and here the input is {stream}.",
            fix="Add a time column to the source." if by else f"Select {name} in that query.",
            place=place,
        )
    if lower in _RECORD_COLUMNS:
        return PlanError(
            "MS-PLAN-SYSTEM-COLUMN",
            f"{name} is a system column of records and changes, and {stream} does not have it.",
            fix="Declare the column _OP STRING in it, so that changes are ordinary rows."
            if isinstance(node, Source) and node.retracts
            else "Remove it.",
            place=place,
        )
    return not_supported(f"the system column {name}", place) if lower == "_op" else None
