"""Reads the properties of a database table, source or sink, and rejects contradictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.secret_names import contains_secret
from millstream.suggestions import nearest, same
from millstream.temporal import OutputMode


def key_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns that identify the row that a change replaces."""
    return tuple(name.strip() for name in sink.option("key.columns").split(",") if name.strip())


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


def check_source_mode(declared: ConnectorStatement) -> None:
    """Rejects an incremental source without its column, and the column without that mode."""
    given: Mapping[str, object] = declared.properties
    mode = declared.value("mode", "snapshot").lower()
    if mode == "incremental" and "incremental.column" not in given:
        raise declared.missing_property_error("incremental.column", "id")
    if mode == "snapshot" and "incremental.column" in given:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'incremental.column' has no effect, because 'mode' is 'snapshot'.",
            fix="Add 'mode' = 'incremental', or remove it.",
            place=declared.properties["incremental.column"].place,
        )


def check_key(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:  # noqa: ARG001
    """Rejects key columns that the query does not select."""
    for name in key_columns(sink):
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"{name} is a key column of the sink {sink.name}, and its query does not select "
                "it.",
                fix=nearest(name, columns),
                place=sink.place,
            )


def check_mode(sink: SinkDef, mode: OutputMode) -> None:
    """Rejects changelogs without a key, which identifies the row to update or delete."""
    if mode is not OutputMode.APPEND and not key_columns(sink):
        raise PropertyError(
            "MS-PROP-MISSING",
            f"the query of the sink {sink.name} writes a changelog, and the sink has no key that "
            "identifies the row to update or delete.",
            fix="Add 'key.columns' = '…' to the sink.",
            place=sink.place,
        )
