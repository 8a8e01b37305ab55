"""Declares the connector `iceberg`."""

from __future__ import annotations

from millstream.connectors.file.sink_options import check_partitions
from millstream.connectors.iceberg.settings import PREFIX, check_iceberg
from millstream.connectors.key_columns import CREATE_TABLE
from millstream.connectors.lake.properties import PARTITION_BY, SOURCE_PROPERTIES
from millstream.plan.connectors import ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import TEXT, one_of
from millstream.temporal import OutputMode

_SOURCE = (Role.SOURCE,)
_BOTH = (Role.SOURCE, Role.SINK)

SPEC = ConnectorSpec(
    "iceberg",
    "An Apache Iceberg table, whose new rows are read, or to which rows are appended exactly once. "
    "Results that change are appended as changes with the column _OP; rows are never replaced.",
    (
        Property("table", TEXT, "The table, with its namespace.", _BOTH, required="db.{name}"),
        Property(
            "catalog",
            TEXT,
            "The name of the catalog. Its settings are those below, and those that pyiceberg "
            "finds in the environment or in .pyiceberg.yaml.",
            _BOTH,
            default="default",
        ),
        Property(
            "catalog.type",
            TEXT,
            "The type of the catalog, such as rest, sql, hive or glue. Other settings of "
            "pyiceberg may be given with the same prefix, but no secrets.",
            _BOTH,
        ),
        Property(
            "catalog.uri",
            TEXT,
            "The URI of the catalog, such as http://host:8181 or sqlite:///catalog.db.",
            _BOTH,
        ),
        Property("catalog.warehouse", TEXT, "Where the catalog creates tables.", _BOTH),
        Property(
            "start",
            one_of("snapshot", "latest", "timestamp"),
            "Where a new checkpoint starts: with all rows of the table (snapshot), with rows "
            "added from now on (latest), or with the first snapshot at or after a time.",
            _SOURCE,
            default="snapshot",
        ),
        *SOURCE_PROPERTIES,
        PARTITION_BY,
        CREATE_TABLE,
    ),
    source="millstream.connectors.iceberg.opening:open_source",
    sink="millstream.connectors.iceberg.opening:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="a commit to the table has the rows of a batch and its number",
    executor_reads=True,
    admission_control=True,
    pass_through=(PREFIX,),
    check=check_iceberg,
    check_columns=check_partitions,
)
