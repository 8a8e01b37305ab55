"""Reads the properties of an SQLite table, source or sink, and rejects contradictions."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.suggestions import nearest, same
from millstream.temporal import OutputMode


def key_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns that identify the row that a change replaces."""
    return tuple(name.strip() for name in sink.option("key.columns").split(",") if name.strip())


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
        _check_mode(declared)
    return {**found, "table": options.get("table", declared.name)}


def _path_of(url: str) -> str:
    rest = url.removeprefix("jdbc:").removeprefix("sqlite:")
    return rest.removeprefix("//").removeprefix("/") if rest.startswith("///") else rest


def _check_mode(declared: ConnectorStatement) -> None:
    given = declared.properties.get("incremental.column")
    mode = declared.value("mode", "snapshot").lower()
    if mode == "incremental" and given is None:
        raise declared.missing_property_error("incremental.column", "id")
    if mode == "snapshot" and given is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'incremental.column' has no effect, because 'mode' is 'snapshot'.",
            fix="Add 'mode' = 'incremental', or remove it.",
            place=given.place,
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
    """Rejects upserts without a key: without old values, only a key identifies a row."""
    if mode is OutputMode.UPSERT and not key_columns(sink):
        raise PropertyError(
            "MS-PROP-MISSING",
            f"the query of the sink {sink.name} writes upserts, and the sink has no key that "
            "identifies the row to update.",
            fix="Add 'key.columns' = '…' to the sink, or set 'output.mode' = 'retract'.",
            place=sink.place,
        )
