"""Finds or creates the table of a sink, and checks that it can store the sink's rows."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable, Schema

from millstream.connectors.delta.failures import described, feature_error, table_name
from millstream.connectors.lake.columns import check_partition_types, match_columns, spelling
from millstream.connectors.lake.table import TableColumns, TableName

# What other writers would compute or check for each row.
_COMPUTED = ("delta.generationExpression", "delta.identity.start", "delta.invariants")
# Features of tables that deltalake can write to, if their columns and rows need nothing else.
_WRITABLE = (
    *("appendOnly", "changeDataFeed", "checkConstraints", "columnMapping", "deletionVectors"),
    *("generatedColumns", "invariants", "timestampNtz", "v2Checkpoint"),
)


def prepare_table(
    owner: str,
    path: str,
    columns: pa.Schema,
    partitions: Sequence[str],
    key: Sequence[str],
    *,
    create: bool,
) -> TableColumns:
    """Finds or creates the table; raises RunError if it cannot store the rows."""
    name = table_name(owner, path)
    with described(owner, path):
        if not DeltaTable.is_deltatable(path):
            if not create:
                raise name.error(
                    f"{path} is not a Delta table",
                    "Correct 'path', create the table, or remove 'create.table'.",
                )
            _create(name, columns, partitions)
        table = DeltaTable(path)
    return _check(name, table, columns, partitions, key)


def _create(name: TableName, columns: pa.Schema, partitions: Sequence[str]) -> None:
    own = [spelling(name, each, columns).name for each in partitions]
    check_partition_types(name.owner, columns, own)
    # Several outputs of a job may create the table at the same time.
    DeltaTable.create(name.name, Schema.from_arrow(columns), mode="ignore", partition_by=own)


def _check(
    name: TableName,
    table: DeltaTable,
    columns: pa.Schema,
    partitions: Sequence[str],
    key: Sequence[str],
) -> TableColumns:
    owner, path = name.owner, name.name
    reject_features(owner, path, table)
    known = pa.schema(table.schema().to_arrow())
    stored = match_columns(name, columns, known)
    existing = tuple(table.metadata().partition_columns)
    given = tuple(spelling(name, each, known).name for each in partitions)
    if given and given != existing:
        raise name.error(
            f"{path} is partitioned by {', '.join(existing) or 'no column'}, not by "
            f"{', '.join(given)}",
            "Correct 'partition.by', or write to another table.",
        )
    check_partition_types(owner, known, existing)
    return TableColumns(
        name,
        path,
        tuple(columns.names),
        stored,
        existing,
        tuple(spelling(name, each, stored).name for each in key),
    )


def reject_features(owner: str, path: str, table: DeltaTable) -> None:
    """Rejects tables for which a writer must do more than add files."""
    settings = table.metadata().configuration
    features = set(table.protocol().writer_features or ()) - set(_WRITABLE)
    fix = "Write to another table, or remove that feature from the table."
    if features:
        raise feature_error(owner, path, f"has the feature {', '.join(sorted(features))}", fix)
    if settings.get("delta.columnMapping.mode", "none") != "none":
        raise feature_error(owner, path, "maps column names", fix)
    found = [name for name in settings if name.startswith("delta.constraints.")]
    if found:
        name = found[0].removeprefix("delta.constraints.")
        raise feature_error(owner, path, f"has the constraint {name}", fix)
    for field in json.loads(table.schema().to_json())["fields"]:
        if any(each in field["metadata"] for each in _COMPUTED):
            raise feature_error(
                owner, path, f"checks or generates the values of column {field['name']}", fix
            )
