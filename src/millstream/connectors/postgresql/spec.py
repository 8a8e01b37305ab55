"""Declares the connector `postgresql`."""

from __future__ import annotations

from millstream.connectors.postgresql.sink_options import check_key, check_mode, check_postgresql
from millstream.connectors.postgresql.source_options import is_changelog
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import BOOLEAN, COUNT, TEXT, TIMEOUT, one_of
from millstream.temporal import OutputMode

_TABLE, _SINK, _SOURCE = (Role.TABLE,), (Role.SINK,), (Role.SOURCE,)
_STREAMS = (Role.SOURCE, Role.SINK)

SPEC = ConnectorSpec(
    "postgresql",
    "A table of a PostgreSQL database: its rows or changes as a stream, looked up by key, read "
    "whole, or written exactly once.",
    (
        Property(
            "url",
            TEXT,
            "The database, such as postgresql://host:5432/database.",
            required="postgresql://host:5432/database",
        ),
        Property(
            "table",
            TEXT,
            "The name of the table in the database. Default: the name of the source, table or "
            "sink.",
        ),
        Property("user", TEXT, "The user, if 'url' does not name one."),
        Property("password", TEXT, "The password of the user.", _TABLE, secret=True),
        Property(
            "password.env",
            TEXT,
            "The environment variable with the password. Executors read it, too. Without it, libpq "
            "also reads the file that PGPASSFILE names.",
            default="PGPASSWORD",
        ),
        Property("password.file", PATH, "A file with the password. Executors read it, too."),
        Property(
            "mode",
            one_of("snapshot", "incremental", "cdc"),
            "What a source reads. snapshot: the rows of the table, once; incremental: rows with "
            "greater values of a column; cdc: the rows of the table, and then every change.",
            _SOURCE,
            required="cdc",
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
            "The approximate maximum of rows or changes per micro-batch. A transaction is not "
            "split. Not with 'mode' = 'snapshot'.",
            _SOURCE,
            default="1000000",
        ),
        Property(
            "publication",
            TEXT,
            "With 'mode' = 'cdc': the publication, created if it does not exist; by default "
            "millstream_ and the name of the table.",
            _SOURCE,
        ),
        Property(
            "slot.name",
            TEXT,
            "With 'mode' = 'cdc': the replication slot, created for a new checkpoint; by default "
            "millstream_, the name of the source and the identifier of the checkpoint.",
            _SOURCE,
        ),
        Property(
            "on.truncate",
            one_of("fail", "ignore"),
            "With 'mode' = 'cdc': fail: TRUNCATE stops the job, because the deleted rows are not "
            "logged; ignore: they remain in results.",
            _SOURCE,
            default="fail",
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
        Property(
            "connect.timeout",
            TIMEOUT,
            "How long the start of a job waits for the server.",
            _STREAMS,
            default="30s",
        ),
        Property(
            "retry.timeout",
            TIMEOUT,
            "How long a running job waits for a server that does not answer.",
            _STREAMS,
            default="10m",
        ),
    ),
    source="millstream.connectors.postgresql.source_opener:open_source",
    table="millstream.connectors.lookup.full_scan:open_table",
    lookup="millstream.connectors.postgresql.lookup:open_store",
    sink="millstream.connectors.postgresql.sink_opener:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="the rows of a batch and its number are committed in one transaction",
    executor_reads=True,
    admission_control=True,
    system_columns=(("_timestamp", "_timestamp"), ("_offset", "_offset")),
    retracts=is_changelog,
    knows_checkpoint=True,
    check=check_postgresql,
    check_columns=check_key,
    check_mode=check_mode,
)
