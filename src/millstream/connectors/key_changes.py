"""The last change of each key in a batch, for sinks that write results by key."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

OP = "_OP"  # the column of a changelog that says how a row changes the result
_ROW = "_ms_row"


def last_changes(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Returns the last row of each key, in their order."""
    keys = pl.DataFrame({f"k{n}": _as_series(rows.column(name)) for n, name in enumerate(key)})
    last = keys.with_row_index(_ROW).unique(keys.columns, keep="last", maintain_order=True)
    return rows.take(last[_ROW].to_arrow())


def is_removal(changes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether a row leaves the result, by the values of the column `_OP`."""
    return pc.fill_null(pc.is_in(changes, pa.array(["-D", "-U"])), False)


def _as_series(column: pa.ChunkedArray) -> pl.Series:
    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made
