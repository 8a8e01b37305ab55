"""Reads the properties of a database table, source or sink, and rejects contradictions."""

from __future__ import annotations

from millstream.connectors.source_modes import check_source_mode
from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role
from millstream.secret_names import contains_secret


def check_database(declared: ConnectorStatement, options: Options) -> Options:
    """Completes the options; rejects a password in the URL, and a mode without its column."""
    url = declared.properties["url"]
    if contains_secret(url.value):
        raise PropertyError(
            "MS-PROP-VALUE",
            "'url' contains a password, which every reader of the job could see.",
            fix="Remove it from 'url', and name an environment variable in 'password.env' or a "
            "file in 'password.file'.",
            place=url.value_place,
        )
    if "password.env" in declared.properties and "password.file" in declared.properties:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"the {declared.noun} {declared.name} has both 'password.env' and 'password.file'.",
            fix="Remove one of them.",
            place=declared.properties["password.file"].place,
        )
    if declared.role is Role.SOURCE:
        check_source_mode(declared)
    found = {**options, "url": url.value.removeprefix("jdbc:")}
    return {**found, "table": options.get("table", declared.name)}
