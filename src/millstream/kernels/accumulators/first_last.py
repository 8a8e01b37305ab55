"""first, last, min_by, max_by: the value of the row with the least or greatest value of another
column.

first and last order by event time. Among equal rows, `first` picks the one that arrived first, the
others the one that arrived last, as in Spark. Before that, min_by and max_by pick the latest event
time, so the result does not depend on how rows are cut into batches, panes and fragments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from millstream.kernels.accumulators.accumulator import Accumulator
from millstream.kernels.core.kernel import TIME


class PickedValue(Accumulator):
    """The value of one row per group."""

    def __init__(self, call: Any, weighted: bool, ansi: bool) -> None:
        super().__init__(call, weighted, ansi)
        self._by = str(call.by) if call.by is not None else TIME
        self._greatest = call.function in {"last", "max_by"}
        self._skips_nulls = call.function in {"first", "last"} and call.ignore_nulls
        self.stem = f"{call.function}({self.stem}@{self._by}{'' if call.ignore_nulls else ',null'})"

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        key = pl.col(self._by)
        if rows.schema[self._by].is_float():
            key = pl.lit(pl.Series(self.column("key"), _sortable(rows[self._by])))
        if self.call.filter is not None:
            key = pl.when(self.call.filter).then(key)
        value = pl.col(str(self.call.argument))
        if self._skips_nulls:
            key = pl.when(value.is_not_null()).then(key)
        columns = [key.alias(self.column("key")), value.alias(self.column("value"))]
        return columns if self._by == TIME else [*columns, pl.col(TIME).alias(self.column("time"))]

    def fold(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        key, value = pl.col(self.column("key")), pl.col(self.column("value"))
        end = key.max() if self._greatest else key.min()
        # Not max_by with reverse: Polars 2.1 returns the wrong row for some groups.
        chosen = key == end
        if self._by == TIME:
            equal = value.filter(chosen)
            return [equal.first() if self.call.function == "first" else equal.last(), end]
        time = pl.col(self.column("time"))
        latest = time.filter(chosen).max()
        return [value.filter(chosen & (time == latest)).last(), end, latest]

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        return self.fold(partials)

    def finish(self, _partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        return pl.col(self.column("value"))


def _sortable(floats: pl.Series) -> pl.Series:
    """Maps floats to integers with Spark's order: NaN is greatest, -0.0 equals 0.0."""
    count_columns = floats.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0
    bits = np.where(np.isnan(count_columns), np.nan, count_columns).view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    ordered[np.isnan(count_columns)] = np.iinfo(np.int64).max
    keys = pl.Series(ordered)
    return keys if not floats.null_count() else keys.set(floats.is_null(), None)
