"""Declares the connector `postgresql`."""

from __future__ import annotations

from millstream.connectors.postgresql.sink_options import check_key, check_mode, check_postgresql
from millstream.plan.connectors import ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import BOOLEAN, TEXT, TIMEOUT
from millstream.temporal import OutputMode

_TABLE, _SINK = (Role.TABLE,), (Role.SINK,)
_BOTH = (Role.TABLE, Role.SINK)

SPEC = ConnectorSpec(
    "postgresql",
    "A table of a PostgreSQL database, looked up by key, read whole, or written exactly once.",
    (
        Property(
            "url",
            TEXT,
            "The database, such as postgresql://host:5432/database.",
            _BOTH,
            required="postgresql://host:5432/database",
        ),
        Property("table", TEXT, "The name of the table in the database, if it differs.", _BOTH),
        Property("user", TEXT, "The user, if 'url' does not name one.", _BOTH),
        Property("password", TEXT, "The password of the user.", _TABLE, secret=True),
        Property(
            "password.env",
            TEXT,
            "The environment variable with the password. Executors read it, too.",
            _SINK,
            default="PGPASSWORD",
        ),
        Property("password.file", TEXT, "A file with the password. Executors read it, too.", _SINK),
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
        Property(
            "connect.timeout",
            TIMEOUT,
            "How long the start of a job waits for the server.",
            _SINK,
            default="30s",
        ),
        Property(
            "retry.timeout",
            TIMEOUT,
            "How long a running job waits for a server that does not answer.",
            _SINK,
            default="10m",
        ),
    ),
    table="millstream.connectors.lookup.full_scan:open_table",
    lookup="millstream.connectors.postgresql.lookup:open_store",
    sink="millstream.connectors.postgresql.sink_opener:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="the rows of a batch and its number are committed in one transaction",
    check=check_postgresql,
    check_columns=check_key,
    check_mode=check_mode,
)
