"""The modes of sources that read a table once, or rows with greater values of a column."""

from __future__ import annotations

from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement, Property, Role
from millstream.sql.properties import COUNT, TEXT, one_of

_SOURCE = (Role.SOURCE,)
MODE_PROPERTIES = (
    Property(
        "mode",
        one_of("snapshot", "incremental"),
        "What a source reads. snapshot: the rows of the table, once; incremental: rows with "
        "greater values of a column.",
        _SOURCE,
        default="snapshot",
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
        "With 'mode' = 'incremental': the approximate maximum of rows per micro-batch.",
        _SOURCE,
        default="1000000",
    ),
)


def check_source_mode(declared: ConnectorStatement) -> None:
    """Rejects an incremental source without its column, and the column without that mode."""
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
