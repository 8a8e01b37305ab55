"""Declares the connector `database`."""

from __future__ import annotations

from millstream.connectors.database.settings import check_database
from millstream.connectors.key_columns import (
    CREATE_TABLE,
    KEY_COLUMNS,
    check_key,
    require_key_for_changes,
)
from millstream.connectors.source_modes import MODE_PROPERTIES
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property
from millstream.sql.properties import TEXT
from millstream.temporal import OutputMode

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
            "The name of the table in the database; it may include a schema. Default: the name of "
            "the source, table or sink.",
        ),
        Property("user", TEXT, "The user, if 'url' does not name one."),
        Property(
            "password.env",
            TEXT,
            "The environment variable with the password. Executors read it, too.",
        ),
        Property("password.file", PATH, "A file with the password. Executors read it, too."),
        *MODE_PROPERTIES,
        KEY_COLUMNS,
        CREATE_TABLE,
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
