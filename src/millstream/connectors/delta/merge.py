"""Merges the changes of a batch into a table by key, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable

from millstream.connectors.delta.settings import OP

_DELETE = "_ms_delete"
_ROW = "_ms_row"


def last_changes(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Returns the last change of each key; _DELETE is whether the row leaves the table."""
    keys = pl.DataFrame({f"k{n}": _as_series(rows.column(name)) for n, name in enumerate(key)})
    last = keys.with_row_index(_ROW).unique(keys.columns, keep="last", maintain_order=True)
    found = rows.take(last[_ROW].to_arrow())
    deleted = pc.fill_null(pc.is_in(found.column(OP), pa.array(["-D", "-U"])), False)
    return found.drop_columns([OP]).append_column(_DELETE, deleted)


def _as_series(column: pa.ChunkedArray) -> pl.Series:
    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made


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
