"""Exact sums.

Sums of integers are stored as bigint. They are computed with 128 bits only if they might overflow:
a bound by the greatest value and the number of rows is cheap.

Decimals have 128 bits already, and their sums overflow silently. If a sum might overflow, a sum as
a double is computed as well. It is exact enough to decide: a decimal is at most 1.0e38, 128 bits
hold 1.7e38.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl

from millstream.errors import RunError

_BIGINT = 2**63
_DIGITS = 38  # maximum precision of a decimal
_ROUGH = " as a double"


def to_sum(value: pl.Expr, rows: pl.DataFrame, argument: str, *, wide_if_needed: bool) -> pl.Expr:
    """Casts a value to the type in which it is summed."""
    kind = rows.schema[argument]
    if isinstance(kind, pl.Decimal):
        return value.cast(pl.Decimal(_DIGITS, kind.scale))
    wide = wide_if_needed and _may_overflow(rows[argument])
    return value.cast(pl.Int128 if wide else pl.Int64)


def rough_sum(values: pl.Series, name: str) -> list[pl.Expr]:
    """Returns the sum of decimals as a double, if the exact sum might overflow."""
    if not values.dtype.is_decimal() or values.null_count() == values.len():
        return []
    digits = values.to_physical()
    greatest = max(-int(digits.min()), int(digits.max()))  # type: ignore[arg-type]
    if greatest * values.len() < 10**_DIGITS:
        return []
    return [pl.col(name).cast(pl.Float64).sum().alias(name + _ROUGH)]


def exact_sum(partials: pl.DataFrame, name: str, ansi: bool) -> pl.Expr:
    """Returns the sum of sums."""
    total = pl.col(name)
    if ansi and partials.schema[name] == pl.Int64 and _may_overflow(partials[name]):
        total = total.cast(pl.Int128)
    return total.sum()


def _may_overflow(values: pl.Series) -> bool:
    if not values.len() or values.null_count() == values.len():
        return False
    greatest = max(-int(values.min()), int(values.max()), 1)  # type: ignore[arg-type]
    return greatest * values.len() >= _BIGINT


def within_type(partials: pl.DataFrame, name: str, argument: str) -> pl.DataFrame:
    """Converts sums to their stored type, or raises an error if they do not fit."""
    if name + _ROUGH in partials.columns:
        scale = partials.schema[name].scale  # type: ignore[attr-defined]
        digits, rough = partials[name].to_physical(), partials[name + _ROUGH]
        limit = 10**_DIGITS
        too_large = (digits >= limit) | (digits <= -limit)
        if (too_large | (rough.abs() > 1.3 * 10.0 ** (_DIGITS - scale))).any():
            raise _too_many_digits("sum", argument)
        return partials.drop(name + _ROUGH)
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


def decimal_quotient(
    partials: pl.DataFrame, name: str, count: pl.Expr, kind: Any, *, ansi: bool, argument: str
) -> pl.Expr:
    """Divides sums by counts, rounded half up to the required scale."""
    scale: int = partials.schema[name].scale  # type: ignore[attr-defined]
    wanted = kind.scale if isinstance(kind, pl.Decimal) else scale + 4
    digits, number = pl.col(name).to_physical(), count.cast(pl.Int128)
    size = digits.abs()
    more = pl.lit(10 ** (wanted - scale), pl.Int128)
    whole, rest = size // number, size % number
    # Values that overflow 128 bits are not used.
    fits = whole < pl.lit(10 ** (_DIGITS - wanted + scale), pl.Int128)
    if ansi and not partials.select(fits.all()).item():
        raise _too_many_digits("average", argument)
    rounded = whole * more + (rest * more * 2 + number) // (number * 2)
    signed = pl.when(fits).then(pl.when(digits < 0).then(0 - rounded).otherwise(rounded))
    return signed.cast(pl.Decimal(_DIGITS, 0)) * pl.lit(Decimal(1).scaleb(-wanted))


def _too_many_digits(what: str, argument: str) -> RunError:
    return RunError(
        "MS-RUN-OVERFLOW",
        f"the {what} of {argument} has more than {_DIGITS} digits.",
        fix="Round the argument to fewer digits, or cast it to DOUBLE.",
    )
