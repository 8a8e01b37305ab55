"""Reads the properties of a PostgreSQL sink, and rejects those that contradict each other; also
those that sources and sinks share."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.connectors.postgresql.source_options import check_source
from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.secret_names import contains_secret
from millstream.suggestions import nearest, same
from millstream.temporal import OutputMode

_PASSWORDS = ("password", "password.env", "password.file")
OP = "_OP"  # the column of a changelog that says how a row changes the result


def key_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns that identify the row that a change replaces."""
    return tuple(name.strip() for name in sink.option("key.columns").split(",") if name.strip())


def check_postgresql(declared: ConnectorStatement, options: Options) -> Options:
    """Completes the options; rejects secrets in those of a source or sink."""
    options = {**options, "table": options.get("table", declared.name)}
    if declared.role is Role.TABLE:
        _reject_several_passwords(declared)
        return options
    url = declared.properties["url"]
    if not url.value.removeprefix("jdbc:").startswith(("postgresql://", "postgres://")):
        raise PropertyError(
            "MS-PROP-VALUE",
            "'url' is not the URL of a PostgreSQL database.",
            fix="Write 'url' = 'postgresql://host:5432/database'.",
            place=url.value_place,
        )
    if contains_secret(url.value):
        raise PropertyError(
            "MS-PROP-VALUE",
            "'url' contains a password, which every reader of the job could see.",
            fix="Remove it from 'url'. Set the environment variable PGPASSWORD, or name another "
            "one in 'password.env' or a file in 'password.file'.",
            place=url.value_place,
        )
    _reject_several_passwords(declared)
    return check_source(declared, options) if declared.role is Role.SOURCE else options


def _reject_several_passwords(declared: ConnectorStatement) -> None:
    given = [name for name in _PASSWORDS if name in declared.properties]
    if len(given) > 1:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"the {declared.noun} {declared.name} has both '{given[0]}' and '{given[1]}'.",
            fix="Remove one of them.",
            place=declared.properties[given[1]].place,
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
