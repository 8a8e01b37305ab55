"""Declares the connector `sqlite`."""

from __future__ import annotations

from millstream.connectors.key_columns import check_key, require_key_for_upserts
from millstream.connectors.sqlite.options import check_sqlite
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import BOOLEAN, COUNT, TEXT, one_of
from millstream.temporal import OutputMode

_SOURCE, _SINK = (Role.SOURCE,), (Role.SINK,)

SPEC = ConnectorSpec(
    "sqlite",
    "A table of an SQLite database: its rows as a stream, looked up by key, read whole, or "
    "written exactly once.",
    (
        Property("path", PATH, "The file of the database."),
        Property("url", TEXT, "The file as a URL, such as sqlite:shop.db."),
        Property("table", TEXT, "The name of the table in the database, if it differs."),
        Property(
            "mode",
            one_of("snapshot", "incremental"),
            "What a source reads. snapshot: the rows of the table, once; incremental: rows with "
            "greater values of a column.",
            _SOURCE,
            default="snapshot",
        ),
        Property(
            "incremental.column",
            TEXT,
            "With 'mode' = 'incremental': a column whose values only increase, such as a sequence.",
            _SOURCE,
        ),
        Property(
            "max.rows.per.batch",
            COUNT,
            "About how many rows a micro-batch has at most, with 'mode' = 'incremental'.",
            _SOURCE,
            default="1000000",
        ),
        Property(
            "key.columns",
            TEXT,
            "Columns, separated by commas, that identify a row. A row then replaces the row with "
            "the same key.",
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
