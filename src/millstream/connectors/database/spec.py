"""Declares the connector `database`."""

from __future__ import annotations

from millstream.connectors.database.settings import check_database
from millstream.connectors.key_columns import check_key, require_key_for_changes
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import BOOLEAN, COUNT, TEXT, one_of
from millstream.temporal import OutputMode

_SOURCE, _SINK = (Role.SOURCE,), (Role.SINK,)

SPEC = ConnectorSpec(
    "database",
    "A table of another database, through SQLAlchemy and a driver: its rows as a stream, looked "
    "up by key, read whole, or written.",
    (
        Property(
            "url",
            TEXT,
            "The database as SQLAlchemy names it, such as mysql+pymysql://host:3306/shop.",
            required="mysql+pymysql://host:3306/shop",
        ),
        Property(
            "table",
            TEXT,
            "The name of the table in the database, if it differs; it may include a schema.",
        ),
        Property("user", TEXT, "The user, if 'url' does not name one."),
        Property(
            "password.env",
            TEXT,
            "The environment variable with the password. Executors read it, too.",
        ),
        Property("password.file", PATH, "A file with the password. Executors read it, too."),
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
    source="millstream.connectors.database.opening:open_source",
    table="millstream.connectors.lookup.full_scan:open_table",
    lookup="millstream.connectors.database.store:open_store",
    sink="millstream.connectors.database.opening:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="the rows of a batch and its number are committed in one transaction, if the "
    "table has transactions",
    executor_reads=True,
    admission_control=True,
    check=check_database,
    check_columns=check_key,
    check_mode=require_key_for_changes,
)
