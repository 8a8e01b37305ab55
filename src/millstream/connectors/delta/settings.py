"""Reads the properties of a Delta sink or source, and rejects those that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from millstream.connectors.file.sink_options import check_partitions
from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.suggestions import nearest, same

OP = "_OP"  # the column of a changelog that says how a row changes the result
_START = {"version": "start.version", "timestamp": "start.timestamp"}


def key_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns that identify the row that a change replaces; none: rows are appended."""
    return tuple(name.strip() for name in sink.option("key.columns").split(",") if name.strip())


def merge_limit(sink: SinkDef) -> str:
    """Returns the limit of a sink that merges, for `explain`; empty if it appends."""
    if not key_columns(sink):
        return ""
    return (
        "rows are merged by key in the driver's process, whose memory has the rows of a batch and "
        "the files of their keys"
    )


def check_key(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:
    """Rejects key and partition columns that the query does not select."""
    check_partitions(sink, columns, operation)
    for name in key_columns(sink):
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"{name} is a key column of the sink {sink.name}, and its query does not select "
                "it.",
                fix=nearest(name, columns),
                place=sink.place,
            )


def check_start(declared: ConnectorStatement, options: Options) -> Options:
    """Rejects a source whose start is not complete, or has properties of another start."""
    if declared.role is not Role.SOURCE:
        return options
    start = declared.value("start", "snapshot").lower()
    for kind, name in _START.items():
        if kind == start and name not in declared.properties:
            raise declared.missing_property_error(name, _EXAMPLES[name])
        if kind != start and name in declared.properties:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' has no effect, because 'start' is '{start}'.",
                fix=f"Add 'start' = '{kind}', or remove '{name}'.",
                place=declared.properties[name].place,
            )
    if "start.timestamp" in declared.properties:
        given = declared.properties["start.timestamp"]
        if start_time(given.value) is None:
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'start.timestamp' = '{given.value}' is not a time in ISO 8601.",
                fix="Write a time such as 2026-01-15T10:00:00Z; without an offset it is UTC.",
                place=given.value_place,
            )
    return {**options, "start": start}


_EXAMPLES = {"start.version": "0", "start.timestamp": "2026-01-15T10:00:00Z"}


def start_time(text: str) -> int | None:
    """Returns a time in milliseconds; None if the text is not ISO 8601."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
