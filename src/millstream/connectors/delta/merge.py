"""Merges the changes of a batch into a table by key, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable

from millstream.connectors.key_changes import OP, is_removal, last_changes

_DELETE = "_ms_delete"


def mergeable(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Returns the last change of each key; _DELETE is whether the row leaves the table."""
    found = last_changes(rows, key)
    return found.drop_columns([OP]).append_column(_DELETE, is_removal(found.column(OP)))


def merge_rows(
    changes: pa.Table, key: Sequence[str]
) -> Callable[[DeltaTable, CommitProperties], None]:
    """Returns the change that merges rows by key. NULL is a key value like any other."""
    names = [name for name in changes.schema.names if name != _DELETE]
    same_key = " AND ".join(f"(t.{_q(name)} IS NOT DISTINCT FROM s.{_q(name)})" for name in key)
    values = {_q(name): f"s.{_q(name)}" for name in names}

    def change(table: DeltaTable, made: CommitProperties) -> None:
        merger = table.merge(
            changes,
            predicate=same_key,
            source_alias="s",
            target_alias="t",
            commit_properties=made,
        )
        merger = merger.when_matched_delete(f"s.{_q(_DELETE)}").when_matched_update(values)
        merger.when_not_matched_insert(values, predicate=f"NOT s.{_q(_DELETE)}").execute()

    return change


def _q(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
