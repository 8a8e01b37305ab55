"""Declares the connector `sqlite`."""

from __future__ import annotations

from millstream.errors import PropertyError
from millstream.plan.connectors import (
    PATH,
    ConnectorSpec,
    ConnectorStatement,
    Options,
    Property,
    Role,
)
from millstream.sql.properties import TEXT

_TABLE = (Role.TABLE,)


def _with_path(declared: ConnectorStatement, options: Options) -> Options:
    """Completes the options: the path, from 'path' or 'url', and the name of the table."""
    if "path" in options and "url" in options:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"the table {declared.name} has both 'path' and 'url', which name the same thing.",
            fix="Remove one of them.",
            place=declared.properties["url"].place,
        )
    found = {name: value for name, value in options.items() if name != "url"}
    found["path"] = options.get("path") or _path_of(options.get("url", ""))
    if not found["path"]:
        raise declared.missing_property_error("path", "customers.db")
    return {**found, "table": options.get("table", declared.name)}


def _path_of(url: str) -> str:
    rest = url.removeprefix("jdbc:").removeprefix("sqlite:")
    return rest.removeprefix("//").removeprefix("/") if rest.startswith("///") else rest


SPEC = ConnectorSpec(
    "sqlite",
    "A table of an SQLite database, looked up by key or read whole.",
    (
        Property("path", PATH, "The file of the database.", _TABLE),
        Property("url", TEXT, "The file as a URL, such as sqlite:shop.db.", _TABLE),
        Property("table", TEXT, "The name of the table in the database, if it differs.", _TABLE),
    ),
    table="millstream.connectors.lookup.full_scan:open_table",
    lookup="millstream.connectors.sqlite.lookup:open_store",
    check=_with_path,
)
