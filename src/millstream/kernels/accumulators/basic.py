"""Functions based on sums (count, sum, avg, variance), and minima and maxima."""

from __future__ import annotations

from typing import Any

import polars as pl

from millstream.errors import PlanError
from millstream.kernels.accumulators.accumulator import ROWS, WEIGHT, Accumulator
from millstream.kernels.accumulators.exact_sums import (
    decimal_quotient,
    exact_sum,
    rough_sum,
    to_sum,
    within_type,
)


class Count(Accumulator):
    """The number of rows, or of rows whose argument is not NULL."""

    @property
    def name(self) -> str:
        if self.call.argument is None and self.call.filter is None:
            return WEIGHT if self.weighted else ROWS
        return self.column("count")

    def prepare(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        if self.name in {ROWS, WEIGHT}:
            return []
        if self.call.argument is None:
            counts = pl.col(str(self.call.filter)).fill_null(False)
        else:
            counts = self.value.is_not_null()
        weight = pl.when(counts).then(WEIGHT).otherwise(0) if self.weighted else counts
        return [weight.alias(self.name)]

    def fold(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        return [] if self.name in {ROWS, WEIGHT} else [pl.col(self.name).sum().cast(pl.Int64)]

    def merge(self, _partials: pl.DataFrame) -> list[pl.Expr]:
        return [] if self.name in {ROWS, WEIGHT} else [pl.col(self.name).sum()]

    def finish(self, _partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        return pl.col(self.name)


class _ValueAggregate(Accumulator):
    """Counts the values besides aggregating them."""

    @property
    def count(self) -> pl.Expr:
        return pl.col(self.column("count"))

    def _counted(self) -> Count:
        return Count(self.call, self.weighted, self.ansi)

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return self._counted().prepare(rows)

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return self._counted().fold(rows)

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        return self._counted().merge(partials)


_ODD = ("nan", "inf", "-inf")  # counted, because retracting them from a sum leaves NaN


class _FloatSum(_ValueAggregate):
    """A sum as a double. If the input retracts, values that are not finite are counted
    separately."""

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        value = self.value.cast(pl.Float64)
        if not self.weighted:
            return [*super().prepare(rows), value.alias(self.column("double"))]
        finite = pl.when(value.is_finite()).then(value * pl.col(WEIGHT)).otherwise(0.0)
        odd = (value.is_nan(), value == float("inf"), value == -float("inf"))
        return [
            *super().prepare(rows),
            finite.alias(self.column("double")),
            *(
                pl.when(flag).then(WEIGHT).otherwise(0).alias(self.column(name))
                for name, flag in zip(_ODD, odd, strict=True)
            ),
        ]

    def _names(self) -> list[str]:
        return [self.column(name) for name in ("double", *(_ODD if self.weighted else ()))]

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return [*super().fold(rows), *(pl.col(name).sum() for name in self._names())]

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        return [*super().merge(partials), *(pl.col(name).sum() for name in self._names())]

    def total(self) -> pl.Expr:
        total = pl.col(self.column("double"))
        if not self.weighted:
            return total
        nan, up, down = (pl.col(self.column(name)) > 0 for name in _ODD)
        return (
            pl.when(nan | (up & down))
            .then(float("nan"))
            .when(up)
            .then(float("inf"))
            .when(down)
            .then(-float("inf"))
            .otherwise(total)
        )


class Sum(_ValueAggregate):
    """An exact sum for integers and decimals: an overflow is an error, as in Spark."""

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        kind = rows.schema[str(self.call.argument)]
        if kind.is_float():
            return _FloatSum(self.call, self.weighted, self.ansi).prepare(rows)
        value = to_sum(self.value, rows, str(self.call.argument), wide_if_needed=self.ansi)
        if self.weighted:
            value = value * pl.col(WEIGHT)
        return [*super().prepare(rows), value.alias(self.column("sum"))]

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        if self.column("double") in rows.columns and self.column("sum") not in rows.columns:
            return _FloatSum(self.call, self.weighted, self.ansi).fold(rows)
        name = self.column("sum")
        return [*super().fold(rows), pl.col(name).sum(), *rough_sum(rows[name], name)]

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        if self.column("sum") not in partials.columns:
            return _FloatSum(self.call, self.weighted, self.ansi).merge(partials)
        name = self.column("sum")
        rough = rough_sum(partials[name], name)
        return [*super().merge(partials), exact_sum(partials, name, self.ansi), *rough]

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        return within_type(partials, self.column("sum"), str(self.call.argument))

    def finish(self, partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        if self.column("sum") in partials.columns:
            total = pl.col(self.column("sum"))
        else:
            total = _FloatSum(self.call, self.weighted, self.ansi).total()
        return pl.when(self.count > 0).then(total)


class Average(_ValueAggregate):
    """The average: a decimal for decimals, rounded half up; a double for other numbers."""

    def _of(self, exact: bool) -> _ValueAggregate:
        return (Sum if exact else _FloatSum)(self.call, self.weighted, self.ansi)

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return self._of(rows.schema[str(self.call.argument)].is_decimal()).prepare(rows)

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return self._of(rows.schema[str(self.call.argument)].is_decimal()).fold(rows)

    def _exact(self, partials: pl.DataFrame) -> bool:
        kind = partials.schema.get(self.column("sum"))
        return kind is not None and kind.is_decimal()

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        return self._of(self._exact(partials)).merge(partials)

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        return self._of(exact=True).settle(partials) if self._exact(partials) else partials

    def finish(self, partials: pl.DataFrame, kind: Any) -> pl.Expr:
        if self._exact(partials):
            argument, ansi = str(self.call.argument), self.ansi
            total = decimal_quotient(
                partials, self.column("sum"), self.count, kind, ansi=ansi, argument=argument
            )
        else:
            total = _FloatSum(self.call, self.weighted, self.ansi).total() / self.count
        return pl.when(self.count > 0).then(total)


class Extreme(Accumulator):
    """min and max; bool_and and bool_or are those of booleans. NaN is greater than all numbers."""

    def __init__(self, call: Any, weighted: bool, ansi: bool) -> None:
        super().__init__(call, weighted, ansi)
        self._least = call.function in {"min", "bool_and"}

    @property
    def name(self) -> str:
        return self.column("min" if self._least else "max")

    def _of(self, value: pl.Expr, kind: Any) -> pl.Expr:
        if kind.is_nested():
            raise PlanError(
                "MS-PLAN-AGGREGATE",
                f"{self.call.function} of {kind} is not supported.",
                fix="Take it of a column of the struct or an element of the list.",
            )
        if self._least:
            return value.min()
        return value.nan_max() if kind.is_float() else value.max()

    def prepare(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        return [self.value.alias(self.name)]

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return [self._of(pl.col(self.name), rows.schema[self.name])]

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        return [self._of(pl.col(self.name), partials.schema[self.name])]

    def finish(self, _partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        return pl.col(self.name)


class BooleanCounts(_ValueAggregate):
    """bool_and and bool_or over inputs that retract: counts the true values."""

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        true = pl.when(self.value).then(WEIGHT).otherwise(0)
        return [*super().prepare(rows), true.alias(self.column("true"))]

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        return [*super().fold(rows), pl.col(self.column("true")).sum()]

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        return [*super().merge(partials), pl.col(self.column("true")).sum()]

    def finish(self, _partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        true = pl.col(self.column("true"))
        wanted = true == self.count if self.call.function == "bool_and" else true > 0
        return pl.when(self.count > 0).then(wanted)


class Variance(_ValueAggregate):
    """Sums of (x - c) and its square, with a centre c near the values, which limits rounding
    errors.

    When partial results with different centres are merged, they move to one centre; after that, the
    centre is the mean.
    """

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        value = self.value.cast(pl.Float64)
        if not self.weighted:
            return [*super().prepare(rows), value.alias(self.column("double"))]
        finite = value.is_finite()
        near = rows.select(value.filter(finite).mean()).item()
        off = value - (near or 0.0)
        weight = pl.col(WEIGHT)
        return [
            *super().prepare(rows),
            pl.lit(near or 0.0).alias(self.column("centre")),
            pl.when(finite).then(off * weight).otherwise(0.0).alias(self.column("off")),
            pl.when(finite).then(off * off * weight).otherwise(0.0).alias(self.column("square")),
            pl.when(~finite).then(weight).otherwise(0).alias(self.column("odd")),
        ]

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        if self.weighted:
            sums = [pl.col(self.column(name)).sum() for name in ("off", "square", "odd")]
            return [*super().fold(rows), pl.col(self.column("centre")).first(), *sums]
        value = pl.col(self.column("double"))
        return [
            *super().fold(rows),
            value.mean().alias(self.column("centre")),
            pl.lit(0.0).alias(self.column("off")),
            # Polars returns 0 for one value. For NaN and infinity it must be NaN, which x - x is.
            (value.var(ddof=0) * value.count() + (value.mean() - value.mean()))
            .fill_null(0.0)
            .alias(self.column("square")),
        ]

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        centre, off, square = (pl.col(self.column(name)) for name in ("centre", "off", "square"))
        count = self._rows
        common = centre.first(ignore_nulls=True)
        move = (centre - common).fill_null(0.0)
        moved = [
            common.alias(self.column("centre")),
            (off + count * move).sum().alias(self.column("off")),
            (square + 2 * off * move + count * move * move).sum().alias(self.column("square")),
        ]
        odd = [pl.col(self.column("odd")).sum()] if self.weighted else []
        return [*super().merge(partials), *moved, *odd]

    @property
    def _rows(self) -> pl.Expr:
        """The number of finite values."""
        return self.count - pl.col(self.column("odd")) if self.weighted else self.count

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        centre, off, square = (pl.col(self.column(name)) for name in ("centre", "off", "square"))
        rows, some = self._rows, self._rows > 0
        return partials.with_columns(
            pl.when(some).then(centre + off / rows).otherwise(centre).alias(self.column("centre")),
            pl.when(some).then(0.0).otherwise(off).alias(self.column("off")),
            pl.when(some)
            .then(square - off * off / rows)
            .otherwise(square)
            .alias(self.column("square")),
        )

    def finish(self, _partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        least, less = (2, 1) if self.call.function.endswith("samp") else (1, 0)
        square = pl.col(self.column("square"))
        # A rounding error that remains after retractions counts as 0.
        none = (square < 0) | (self._rows == 1) & square.is_finite()
        spread = pl.when(none).then(0.0).otherwise(square) / (self.count - less)
        if self.weighted:
            spread = pl.when(pl.col(self.column("odd")) > 0).then(float("nan")).otherwise(spread)
        if self.call.function.startswith("stddev"):
            spread = spread.sqrt()
        return pl.when(self.count >= least).then(spread)
