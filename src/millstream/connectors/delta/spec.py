"""Declares the connector `delta`."""

from __future__ import annotations

from millstream.connectors.delta.settings import check_columns, merge_limit
from millstream.connectors.key_columns import CREATE_TABLE, KEY_COLUMNS
from millstream.connectors.lake.properties import PARTITION_BY, SOURCE_PROPERTIES, check_start
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import NUMBER, one_of
from millstream.temporal import OutputMode

_SOURCE = (Role.SOURCE,)

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
        *SOURCE_PROPERTIES,
        KEY_COLUMNS,
        PARTITION_BY,
        CREATE_TABLE,
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
