"""Reads the properties of a PostgreSQL source, and rejects those that contradict each other."""

from __future__ import annotations

from millstream.connectors.postgresql.source_names import OP, SYSTEM_COLUMNS
from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement, Options
from millstream.suggestions import same

SNAPSHOT, INCREMENTAL, CDC = "snapshot", "incremental", "cdc"
# Properties of one mode.
_MODE_OF = {
    "incremental.column": INCREMENTAL,
    "publication": CDC,
    "slot.name": CDC,
    "on.truncate": CDC,
}


def is_changelog(declared: ConnectorStatement) -> bool:
    """Whether rows retract earlier rows; otherwise changes are rows with the column `_OP`."""
    return declared.value("mode").lower() == CDC and not _declares(declared, OP)


def check_source(declared: ConnectorStatement, options: Options) -> Options:
    mode = declared.value("mode").lower()
    for name, own in _MODE_OF.items():
        if name in declared.properties and mode != own:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' applies to 'mode' = '{own}', and 'mode' is '{mode}'.",
                fix=f"Remove it, or set 'mode' = '{own}'.",
                place=declared.properties[name].place,
            )
    if mode == INCREMENTAL and "incremental.column" not in declared.properties:
        raise declared.missing_property_error("incremental.column", "id")
    if mode == SNAPSHOT and "max.rows.per.batch" in declared.properties:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'max.rows.per.batch' does not apply to 'mode' = 'snapshot', which reads the table as "
            "one micro-batch.",
            fix="Remove it, or set 'mode' = 'incremental'.",
            place=declared.properties["max.rows.per.batch"].place,
        )
    if mode == CDC:
        _check_changes(declared)
    return {**options, "mode": mode}


def _check_changes(declared: ConnectorStatement) -> None:
    if declared.noun == "table" and not _declares(declared, OP):
        raise PropertyError(
            "MS-PROP-POSTGRESQL",
            f"the table {declared.name} is versioned and reads changes, and has no column for the "
            "kind of a change.",
            fix="Declare _OP STRING, and _timestamp TIMESTAMP with WATERMARK FOR _timestamp AS "
            "_timestamp.",
            place=declared.place,
        )
    if not is_changelog(declared):
        return
    for name in SYSTEM_COLUMNS:
        if _declares(declared, name):
            raise PropertyError(
                "MS-PROP-POSTGRESQL",
                f"{declared.name} retracts rows, and {name} of a retraction would be that of the "
                "change, not of the retracted row.",
                fix=f"Remove {name}, or declare the column _OP STRING, so that changes are "
                "ordinary rows.",
                place=declared.place,
            )


def _declares(declared: ConnectorStatement, name: str) -> bool:
    return any(same(column, name) for column, _ in declared.columns)
