"""Properties of sinks that write to a table: its creation, and its key columns."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import Property, Role
from millstream.plan.nodes import SinkDef
from millstream.sql.properties import BOOLEAN, TEXT
from millstream.suggestions import nearest, same
from millstream.temporal import OutputMode

KEY_COLUMNS = Property(
    "key.columns",
    TEXT,
    "Columns, separated by commas, that identify a row. A row then replaces the row with the same "
    "key.",
    (Role.SINK,),
)
CREATE_TABLE = Property(
    "create.table",
    BOOLEAN,
    "Whether a table that does not exist is created.",
    (Role.SINK,),
    default="true",
)


def key_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns that identify the row that a change replaces; none: rows are appended."""
    return tuple(name.strip() for name in sink.option("key.columns").split(",") if name.strip())


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


def require_key_for_upserts(sink: SinkDef, mode: OutputMode) -> None:
    """Rejects upserts without a key: without old values, only a key identifies a row."""
    if mode is OutputMode.UPSERT and not key_columns(sink):
        raise PropertyError(
            "MS-PROP-MISSING",
            f"the query of the sink {sink.name} writes upserts, and the sink has no key that "
            "identifies the row to update.",
            fix="Add 'key.columns' = '…' to the sink, or set 'output.mode' = 'retract'.",
            place=sink.place,
        )


def require_key_for_changes(sink: SinkDef, mode: OutputMode) -> None:
    """Rejects changelogs without a key, for sinks that update and delete rows by key only."""
    if mode is not OutputMode.APPEND and not key_columns(sink):
        raise PropertyError(
            "MS-PROP-MISSING",
            f"the query of the sink {sink.name} writes a changelog, and the sink has no key that "
            "identifies the row to update or delete.",
            fix="Add 'key.columns' = '…' to the sink.",
            place=sink.place,
        )
