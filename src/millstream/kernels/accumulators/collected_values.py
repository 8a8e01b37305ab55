"""Functions that collect values: COUNT(DISTINCT), collect_set, collect_list.

The values of a group are a list. If the input retracts, each value has a weight.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from millstream.kernels.accumulators.accumulator import WEIGHT, Accumulator
from millstream.kernels.core.hashing import normalize_zero

_ROW = "_row"


class _CollectedValues(Accumulator):
    what = "list"

    @property
    def name(self) -> str:
        return self.column(self.what)

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        value = self.value
        if rows.schema[str(self.call.argument)].is_float():
            value = normalize_zero(value)
        return [value.alias(self.name)]

    def fold(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        return [pl.col(self.name).drop_nulls()]

    def merge(self, _partials: pl.DataFrame) -> list[pl.Expr]:
        return [pl.col(self.name).explode().drop_nulls()]

    def finish(self, _partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        if self.call.function == "count_distinct":
            return pl.col(self.name).list.len().cast(pl.Int64)
        return pl.col(self.name)


class ValueList(_CollectedValues):
    """Values in order of arrival."""


class ValueSet(_CollectedValues):
    """Distinct values."""

    what = "set"

    def fold(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        return [pl.col(self.name).drop_nulls().unique(maintain_order=True)]

    def merge(self, _partials: pl.DataFrame) -> list[pl.Expr]:
        return [pl.col(self.name).explode().drop_nulls().unique(maintain_order=True)]


class ValueCounts(Accumulator):
    """Values and their weights, as two lists of equal length."""

    @property
    def _names(self) -> tuple[str, str]:
        return self.column("value"), self.column("weight")

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        value = self.value
        if rows.schema[str(self.call.argument)].is_float():
            value = normalize_zero(value)
        weight = pl.when(value.is_not_null()).then(pl.col(WEIGHT))
        return [value.alias(self._names[0]), weight.alias(self._names[1])]

    def fold(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        return [pl.col(name).drop_nulls() for name in self._names]

    def merge(self, _partials: pl.DataFrame) -> list[pl.Expr]:
        return [pl.col(name).explode().drop_nulls() for name in self._names]

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Merges equal values and drops those with weight 0."""
        value, weight = self._names
        rows = partials.select(value, weight).with_row_index(_ROW)
        bags = (
            rows.filter(pl.col(value).list.len() > 0)
            .explode(value, weight)
            .group_by(_ROW, value, maintain_order=True)
            .agg(pl.col(weight).sum())
            .filter(pl.col(weight) != 0)
            .group_by(_ROW)
            .agg(value, weight)
        )
        whole = rows.select(_ROW).join(bags, on=_ROW, how="left", maintain_order="left")
        return partials.with_columns(
            whole[name].fill_null(pl.lit([], dtype=partials.schema[name])) for name in self._names
        )

    def finish(self, partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        value, weight = self._names
        copies = pl.col(weight).list.eval(pl.element().clip(lower_bound=0))
        if self.call.function != "collect_list":
            copies = copies.list.eval(pl.element().clip(upper_bound=1))
        if self.call.function == "count_distinct":
            return copies.list.sum().cast(pl.Int64)
        return pl.lit(_repeat_values(partials[value], partials.select(copies).to_series()))


def _repeat_values(values: pl.Series, copies: pl.Series) -> pl.Series:
    """Returns lists in which each value is repeated the given number of times."""
    frame = pl.DataFrame({"v": values, "c": copies}).with_row_index(_ROW)
    bags = (
        frame.filter(pl.col("c").list.sum() > 0)
        .explode("v", "c")
        .filter(pl.col("c") > 0)
        .select(_ROW, pl.col("v").repeat_by("c"))
        .explode("v")
        .group_by(_ROW)
        .agg("v")
    )
    whole = frame.select(_ROW).join(bags, on=_ROW, how="left", maintain_order="left")
    return whole["v"].fill_null(pl.lit([], dtype=values.dtype))
