"""COUNT(DISTINCT) with values in a table of their own.

    rows ──fold──▶ each value once, with the calls that count it ──▶ numbers of new values

The partial result of a group has only numbers. Its values are in a table beside that of the groups
(`aggregate.distinct_values`), so the cost of a batch depends on its own values and not on all
earlier ones. Calls with different filters share a value's row, with one bit each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.kernels.accumulators.collected_values import ValueSet
from millstream.kernels.core.hashing import is_hashable, normalize_zero
from millstream.kernels.core.specs import CallSpec

_MAX_FILTERS = 62  # of one argument, one bit each


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, and the filters under which its distinct values are counted."""

    name: str
    filters: tuple[str | None, ...]

    @property
    def values(self) -> str:
        return f"values:{self.name}"

    @property
    def bits(self) -> str:
        return f"bits:{self.name}"

    @property
    def count_columns(self) -> list[str]:
        """The columns with the numbers of values, one per filter."""
        return [f"distinct:{self.name}" + (f"?{each}" if each else "") for each in self.filters]

    def folds(self, rows: pl.DataFrame) -> bool:
        return is_hashable(rows.schema[self.name])

    def fold(self, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Returns, for each group, the lists of its values and of their bits."""
        value = pl.col(self.name)
        if rows.schema[self.name].is_float():
            value = normalize_zero(value)
        seen = rows.select(*by, value.alias(self.values), self._bits().alias(self.bits))
        counted = pl.col(self.values).is_not_null() & (pl.col(self.bits) != 0)
        each = seen.filter(counted).group_by(*by, self.values).agg(pl.col(self.bits).bitwise_or())
        return each.group_by(by).agg(self.values, self.bits)

    def _bits(self) -> pl.Expr:
        flags = [
            pl.lit(1 << bit, pl.Int64)
            if each is None
            else pl.when(each).then(pl.lit(1 << bit, pl.Int64)).otherwise(0)
            for bit, each in enumerate(self.filters)
        ]
        return pl.sum_horizontal(flags)


def arguments_of(calls: Sequence[CallSpec]) -> tuple[Argument, ...]:
    """Returns the arguments whose distinct values are counted."""
    by_name: dict[str, dict[str | None, None]] = {}
    for call in calls:
        if call.function == "count_distinct":
            by_name.setdefault(str(call.argument), {})[call.filter] = None
    return tuple(
        Argument(name, tuple(own)) for name, own in by_name.items() if len(own) <= _MAX_FILTERS
    )


class DistinctCount(ValueSet):
    """One call. Values that cannot be hashed are collected in a list of the group instead."""

    def __init__(self, argument: Argument, call: CallSpec, weighted: bool, ansi: bool) -> None:
        super().__init__(call, weighted, ansi)
        self._argument = argument
        self._number = argument.count_columns[argument.filters.index(call.filter)]

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return [] if self._argument.folds(rows) else super().prepare(rows)

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return [] if self._argument.folds(rows) else super().fold(rows)

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        if self.name in partials.columns:
            return super().merge(partials)
        if self._number in partials.columns:
            return [pl.col(self._number).sum()]
        lists = (self._argument.values, self._argument.bits)
        return [pl.col(name).explode().drop_nulls() for name in lists]

    def finish(self, partials: pl.DataFrame, kind: Any) -> pl.Expr:
        if self.name in partials.columns:
            return super().finish(partials, kind)
        return pl.col(self._number)
