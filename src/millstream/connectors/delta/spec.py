"""Declares the connector `delta`."""

from __future__ import annotations

from millstream.connectors.delta.settings import check_columns, merge_limit
from millstream.connectors.lake.starts import check_start
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import BOOLEAN, COUNT, NUMBER, TEXT, one_of
from millstream.temporal import OutputMode

_SOURCE, _SINK = (Role.SOURCE,), (Role.SINK,)

SPEC = ConnectorSpec(
    "delta",
    "A Delta Lake table, whose new rows are read, or which is written exactly once.",
    (
        Property("path", PATH, "The folder of the table.", required="tables/{name}"),
        Property(
            "start",
            one_of("snapshot", "latest", "version", "timestamp"),
            "Where a new checkpoint starts: with all rows of the table (snapshot), with rows "
            "added from now on (latest), with a version, or with the first version at or after a "
            "time.",
            _SOURCE,
            default="snapshot",
        ),
        Property("start.version", NUMBER, "The first version that is read.", _SOURCE),
        Property("start.timestamp", TEXT, "The time of the first version, in ISO 8601.", _SOURCE),
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
            "Whether versions that update or delete rows are skipped as a whole, with the rows "
            "that they add. By default they stop the job.",
            _SOURCE,
            default="false",
        ),
        Property(
            "key.columns",
            TEXT,
            "Columns, separated by commas, that identify a row. A row then replaces the row with "
            "the same key, and -D deletes it.",
            _SINK,
        ),
        Property(
            "partition.by",
            TEXT,
            "Partition columns of a table that is created, separated by commas.",
            _SINK,
        ),
        Property(
            "create.table",
            BOOLEAN,
            "Whether a table that does not exist is created.",
            _SINK,
            default="true",
        ),
    ),
    source="millstream.connectors.delta.opening:open_source",
    sink="millstream.connectors.delta.opening:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="a version of the table has the rows of a batch and its number",
    limit_of=merge_limit,
    executor_reads=True,
    admission_control=True,
    concurrent_writers=True,
    check=check_start,
    check_columns=check_columns,
)
