"""Exact sums. Sums of integers are kept as bigint; only where they might not fit are they made of
128 bits, and then looked at: a bound by the greatest value and the number of rows is cheap."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl

from millstream.errors import RunError

_BIGINT = 2**63
_DIGITS = 38  # that a decimal can have


def to_sum(value: pl.Expr, rows: pl.DataFrame, argument: str, *, wide_if_needed: bool) -> pl.Expr:
    """A value as it is summed."""
    kind = rows.schema[argument]
    if isinstance(kind, pl.Decimal):
        return value.cast(pl.Decimal(_DIGITS, kind.scale))
    wide = wide_if_needed and _may_overflow(rows[argument])
    return value.cast(pl.Int128 if wide else pl.Int64)


def summed(partials: pl.DataFrame, name: str, ansi: bool) -> pl.Expr:
    """The sum of sums."""
    total = pl.col(name)
    if ansi and partials.schema[name] == pl.Int64 and _may_overflow(partials[name]):
        total = total.cast(pl.Int128)
    return total.sum()


def _may_overflow(values: pl.Series) -> bool:
    if not values.len() or values.null_count() == values.len():
        return False
    greatest = max(-int(values.min()), int(values.max()), 1)  # type: ignore[arg-type]
    return greatest * values.len() >= _BIGINT


def within_bigint(partials: pl.DataFrame, name: str, argument: str) -> pl.DataFrame:
    """Sums of 128 bits as bigint, if they are."""
    if partials.schema.get(name) != pl.Int128:
        return partials
    sums = partials[name]
    if ((sums >= _BIGINT) | (sums < -_BIGINT)).any():
        raise RunError(
            "MS-RUN-OVERFLOW",
            f"the sum of {argument} is too large for a BIGINT.",
            fix="Sum a wider type: SUM(CAST(… AS DECIMAL(38, 0))).",
        )
    return partials.with_columns(pl.col(name).cast(pl.Int64))


def decimal_quotient(total: pl.Expr, count: pl.Expr, scale: int, kind: Any) -> pl.Expr:
    """total / count, rounded half up to the scale asked for."""
    wanted = kind.scale if isinstance(kind, pl.Decimal) else scale + 4
    digits, number = total.to_physical(), count.cast(pl.Int128)
    size = digits.abs()
    more = pl.lit(10 ** (wanted - scale), pl.Int128)
    whole, rest = size // number, size % number
    rounded = whole * more + (rest * more * 2 + number) // (number * 2)
    signed = pl.when(digits < 0).then(0 - rounded).otherwise(rounded)
    return signed.cast(pl.Decimal(_DIGITS, 0)) * pl.lit(Decimal(1).scaleb(-wanted))
