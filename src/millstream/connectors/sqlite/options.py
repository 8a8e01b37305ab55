"""Reads the properties of an SQLite table, source or sink, and rejects contradictions."""

from __future__ import annotations

from millstream.connectors.source_modes import check_source_mode
from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role


def check_sqlite(declared: ConnectorStatement, options: Options) -> Options:
    """Completes the options: the path, from 'path' or 'url', and the name of the table."""
    if "path" in options and "url" in options:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"the {declared.noun} {declared.name} has both 'path' and 'url', which name the same "
            "thing.",
            fix="Remove one of them.",
            place=declared.properties["url"].place,
        )
    found = {name: value for name, value in options.items() if name != "url"}
    found["path"] = options.get("path") or _path_of(options.get("url", ""))
    if not found["path"]:
        raise declared.missing_property_error("path", "customers.db")
    if declared.role is Role.SOURCE:
        check_source_mode(declared)
    return {**found, "table": options.get("table", declared.name)}


def _path_of(url: str) -> str:
    rest = url.removeprefix("jdbc:").removeprefix("sqlite:")
    return rest.removeprefix("//").removeprefix("/") if rest.startswith("///") else rest
