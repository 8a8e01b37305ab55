"""Properties of tables with versions: where a stream starts, and how tables are created."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Property, Role
from millstream.plan.nodes import Source
from millstream.sql.properties import BOOLEAN, COUNT, TEXT

if TYPE_CHECKING:
    from millstream.connectors.lake.version_stream import StreamSettings

_START = {"version": "start.version", "timestamp": "start.timestamp"}
_EXAMPLES = {"start.version": "0", "start.timestamp": "2026-01-15T10:00:00Z"}
_SOURCE = (Role.SOURCE,)
SOURCE_PROPERTIES = (
    Property(
        "start.timestamp", TEXT, "The time of the first version that is read, in ISO 8601.", _SOURCE
    ),
    Property(
        "max.files.per.batch",
        COUNT,
        "The maximum number of data files per batch.",
        _SOURCE,
        default="1000",
    ),
    Property(
        "ignore.changes",
        BOOLEAN,
        "Whether versions that update or delete rows are skipped as a whole, with the rows that "
        "they add. By default they stop the job.",
        _SOURCE,
        default="false",
    ),
)
PARTITION_BY = Property(
    "partition.by",
    TEXT,
    "Partition columns of a table that is created, separated by commas.",
    (Role.SINK,),
)


def stream_settings(source: Source, tasks: int) -> StreamSettings:
    from millstream.connectors.lake.version_stream import StreamSettings

    start = source.option("start", "snapshot")
    value = int(source.option("start.version", "0"))
    if start == "timestamp":
        value = start_time(source.option("start.timestamp")) or 0
    return StreamSettings(start, value, int(source.option("max.files.per.batch", "1000")), tasks)


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


def start_time(text: str) -> int | None:
    """Returns a time in milliseconds; None if the text is not ISO 8601."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
