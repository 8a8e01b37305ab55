"""Declares the connector `sqlite`."""

from __future__ import annotations

from millstream.connectors.key_columns import (
    CREATE_TABLE,
    KEY_COLUMNS,
    check_key,
    require_key_for_upserts,
)
from millstream.connectors.source_modes import MODE_PROPERTIES
from millstream.connectors.sqlite.options import check_sqlite
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property
from millstream.sql.properties import TEXT
from millstream.temporal import OutputMode

SPEC = ConnectorSpec(
    "sqlite",
    "A table of an SQLite database: its rows as a stream, looked up by key, read whole, or "
    "written exactly once.",
    (
        Property("path", PATH, "The file of the database."),
        Property("url", TEXT, "The file as a URL, such as sqlite:shop.db."),
        Property(
            "table",
            TEXT,
            "The name of the table in the database. Default: the name of the source, table or "
            "sink.",
        ),
        *MODE_PROPERTIES,
        KEY_COLUMNS,
        CREATE_TABLE,
    ),
    source="millstream.connectors.sqlite.source:open_source",
    table="millstream.connectors.lookup.full_scan:open_table",
    lookup="millstream.connectors.sqlite.lookup:open_store",
    sink="millstream.connectors.sqlite.sink:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="the rows of a batch and its number are committed in one transaction",
    executor_reads=True,
    admission_control=True,
    tables_in_path=True,
    check=check_sqlite,
    check_columns=check_key,
    check_mode=require_key_for_upserts,
)
