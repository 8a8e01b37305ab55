"""The modes of sources that read a table once, or rows with greater values of a column."""

from __future__ import annotations

from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement


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
