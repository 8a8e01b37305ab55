"""Declares the connector `postgresql`."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorSpec, ConnectorStatement, Options, Property, Role
from millstream.sql.properties import TEXT

_TABLE = (Role.TABLE,)


def _with_table(declared: ConnectorStatement, options: Options) -> Options:
    return {**options, "table": options.get("table", declared.name)}


SPEC = ConnectorSpec(
    "postgresql",
    "A table of a PostgreSQL database, looked up by key or read whole.",
    (
        Property(
            "url",
            TEXT,
            "The database, such as postgresql://host:5432/database.",
            _TABLE,
            required="postgresql://host:5432/database",
        ),
        Property("table", TEXT, "The name of the table in the database, if it differs.", _TABLE),
        Property("user", TEXT, "The user, if 'url' does not name one.", _TABLE),
        Property("password", TEXT, "The password of the user.", _TABLE, secret=True),
    ),
    table="millstream.connectors.lookup.full_scan:open_table",
    lookup="millstream.connectors.postgresql.lookup:open_store",
    check=_with_table,
)
