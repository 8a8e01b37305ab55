"""Aggregate functions as columns of partial results.

    rows ──fold──▶ partial results ──merge──▶ partial results ──finish──▶ values
                          ▲                          │
                          └──────────────────────────┘

A partial result is one row: the number of rows it represents (`_n`), their total weight (`_w`, only
if the input retracts: a retraction has weight -1), and the columns of its functions. Functions that
need the same column share it: AVG(x), SUM(x) and COUNT(x) have one count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from millstream.aggregate_functions import FUNCTIONS
from millstream.errors import PlanError, RunError
from millstream.kernels.accumulators.accumulator import ROWS, WEIGHT, Accumulator
from millstream.kernels.accumulators.basic import (
    Average,
    BooleanCounts,
    Count,
    Extreme,
    Sum,
    Variance,
)
from millstream.kernels.accumulators.collected_values import ValueCounts, ValueList, ValueSet
from millstream.kernels.accumulators.distinct_count import Argument, DistinctCount
from millstream.kernels.accumulators.first_last import PickedValue
from millstream.kernels.accumulators.sketches import DistinctSketch, QuantileSketch
from millstream.kernels.core.kernel import DELETE, OP, UPDATE_BEFORE
from millstream.kernels.core.specs import CallSpec

__all__ = ["ROWS", "WEIGHT", "Accumulators"]

_ACCUMULATORS: dict[str, type[Accumulator]] = {
    "count": Count,
    "sum": Sum,
    "avg": Average,
    "min": Extreme,
    "max": Extreme,
    "bool_and": Extreme,
    "bool_or": Extreme,
    "stddev_samp": Variance,
    "stddev_pop": Variance,
    "var_samp": Variance,
    "var_pop": Variance,
    "first": PickedValue,
    "last": PickedValue,
    "max_by": PickedValue,
    "min_by": PickedValue,
    "count_distinct": ValueSet,
    "collect_set": ValueSet,
    "collect_list": ValueList,
    "approx_count_distinct": DistinctSketch,
    "approx_percentile": QuantileSketch,
}
# Over an input that retracts, where another implementation is needed.
_WEIGHTED: dict[str, type[Accumulator]] = {
    **dict.fromkeys(("bool_and", "bool_or"), BooleanCounts),
    **dict.fromkeys(("count_distinct", "collect_set", "collect_list"), ValueCounts),
}


class Accumulators:
    """All aggregate functions of one operator.

    `weighted`: the input retracts. `distinct_table_arguments`: arguments whose distinct values are
    stored in a table of their own.
    """

    def __init__(
        self,
        calls: Sequence[CallSpec],
        *,
        weighted: bool,
        ansi: bool = True,
        distinct_table_arguments: Sequence[Argument] = (),
    ) -> None:
        self.weighted = weighted
        self._tallied = distinct_table_arguments
        self._parts = [_create(call, weighted, ansi, distinct_table_arguments) for call in calls]

    @property
    def weight(self) -> str:
        """The column that is 0 if a group has no rows."""
        return WEIGHT if self.weighted else ROWS

    def fold(
        self, rows: pl.DataFrame, by: Sequence[str], keep: Sequence[pl.Expr] = ()
    ) -> pl.DataFrame:
        """Folds rows into one partial result per group, with additional columns `keep`."""
        if self.weighted:
            back = pl.col(OP).is_in([UPDATE_BEFORE, DELETE])
            rows = rows.with_columns(pl.when(back).then(-1).otherwise(1).alias(WEIGHT))
        prepared = _unique_columns(expr for part in self._parts for expr in part.prepare(rows))
        if prepared:
            rows = rows.with_columns(prepared)
        counts = [pl.len().cast(pl.Int64).alias(ROWS)]
        if self.weighted:
            counts.append(pl.col(WEIGHT).sum().cast(pl.Int64))
        folds = _unique_columns(expr for part in self._parts for expr in part.fold(rows))
        partials = rows.group_by(by).agg(*keep, *counts, *folds)
        for argument in self._tallied:
            if argument.folds(rows):
                lists = argument.fold(rows, by)
                partials = partials.join(lists, on=list(by), how="left", nulls_equal=True)
        return self._settle(partials)

    def merge(
        self,
        partials: pl.DataFrame,
        by: Sequence[str],
        keep: Sequence[pl.Expr] = (),
        *,
        in_order: bool = False,
    ) -> pl.DataFrame:
        """Merges partial results into one per group. Earlier ones must precede later ones."""
        names = [ROWS, WEIGHT] if self.weighted else [ROWS]
        merges = _unique_columns(expr for part in self._parts for expr in part.merge(partials))
        sums = [pl.col(name).sum() for name in names]
        groups = partials.group_by(by, maintain_order=in_order)
        return self._settle(groups.agg(*keep, *sums, *merges))

    def finish(self, partials: pl.DataFrame, types: Mapping[str, Any]) -> list[pl.Series]:
        """Computes one column per call."""
        columns = []
        for part in self._parts:
            name = part.call.name
            kind = types.get(name)
            value = part.finish(partials, kind)
            cast = value if kind is None else value.cast(kind, strict=part.ansi)
            columns.append(cast.alias(name))
        try:
            return partials.select(columns).get_columns() if columns else []
        except pl.exceptions.InvalidOperationError as error:
            if not str(error).startswith("conversion"):
                raise
            raise RunError(
                "MS-RUN-OVERFLOW",
                f"the value of an aggregate does not fit its type: {str(error).splitlines()[0]}",
                fix="Cast the argument to a DECIMAL that is wide enough, or to DOUBLE.",
            ) from error

    def _settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        for part in self._parts:
            partials = part.settle(partials)
        return partials


def _create(
    call: CallSpec, weighted: bool, ansi: bool, distinct_table_arguments: Sequence[Argument]
) -> Accumulator:
    for argument in distinct_table_arguments:
        if call.function == "count_distinct" and call.argument == argument.name:
            return DistinctCount(argument, call, weighted, ansi)
    if weighted and not FUNCTIONS[call.function].can_retract:
        raise PlanError(
            "MS-PLAN-RETRACT",
            f"{call.function} does not support retractions, and its input retracts.",
            fix="Aggregate an input that does not change: EMIT FINAL without allowed lateness.",
        )
    made = _ACCUMULATORS[call.function]
    return (_WEIGHTED.get(call.function, made) if weighted else made)(call, weighted, ansi)


def _unique_columns(expressions: Iterable[pl.Expr]) -> list[pl.Expr]:
    """Returns one expression per column: functions that share a column return equal expressions."""
    return list({expr.meta.output_name(): expr for expr in expressions}.values())
