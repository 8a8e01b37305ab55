"""Arithmetic and numeric casts over columns, as Spark computes them in ANSI mode.

Overflow of integers and division by zero are errors, also for floating-point numbers. `%` has the
sign of the dividend.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.errors import RunError
from millstream.scalars import INTEGER_BITS, ArithmeticOperator, ScalarType

Bools = npt.NDArray[np.bool_]
_TYPES: dict[ScalarType, Any] = {
    ScalarType.BOOLEAN: pl.Boolean,
    ScalarType.TINYINT: pl.Int8,
    ScalarType.SMALLINT: pl.Int16,
    ScalarType.INT: pl.Int32,
    ScalarType.BIGINT: pl.Int64,
    ScalarType.FLOAT: pl.Float32,
    ScalarType.DOUBLE: pl.Float64,
    ScalarType.STRING: pl.String,
    ScalarType.DATE: pl.Date,
    ScalarType.TIMESTAMP: pl.Int64,  # microseconds, as in packets
}


def data_type(kind: ScalarType) -> Any:
    return _TYPES[kind]


def calculate(
    left: pl.Series,
    op: ArithmeticOperator,
    right: pl.Series,
    kind: ScalarType,
    live: pl.Series | None,
) -> pl.Series:
    """Returns the result of an operation on two numbers of one type."""
    is_valid = left.is_not_null() & right.is_not_null()
    checked = (is_valid if live is None else is_valid & live).to_numpy()
    if op in ("/", "%") and ((right == 0).fill_null(value=False).to_numpy() & checked).any():
        _fail("a division by zero", f"Write {op} nullif(…, 0) in a CREATE STREAM, or use CASE.")
    one, other = _numbers(left, kind), _numbers(right, kind)
    with np.errstate(all="ignore"):
        if kind is ScalarType.DOUBLE:
            result = _of_doubles(one, op, other)
        else:
            result, overflows = _of_integers(one, op, other, kind)
            if (overflows & checked).any():
                row = int(np.flatnonzero(overflows & checked)[0])
                _overflow(f"{one[row]} {op} {other[row]}", kind)
    return _series(result, kind, is_valid)


def negate(values: pl.Series, kind: ScalarType, live: pl.Series | None) -> pl.Series:
    if kind.is_integer:
        least = -(2 ** (INTEGER_BITS[kind] - 1))
        overflows = _live(values == least, live)
        if overflows.any():
            _overflow(f"-({least})", kind)
    with np.errstate(all="ignore"):
        return _series(-_numbers(values, kind), kind, values.is_not_null())


def convert(
    values: pl.Series, source: ScalarType, target: ScalarType, live: pl.Series | None
) -> pl.Series:
    """Returns the values as numbers of another type."""
    if source is target:
        return values
    if not target.is_integer:
        return values.cast(data_type(target))
    if source.is_numeric and not source.is_integer:
        return _truncate(values.cast(pl.Float64), target, live)
    numbers = values.cast(pl.Int64)
    low, high = _range(target)
    _reject_out_of_range(values, (numbers < low) | (numbers > high), target, live)
    return numbers.cast(data_type(target), strict=False)


def _truncate(values: pl.Series, target: ScalarType, live: pl.Series | None) -> pl.Series:
    """Rounds toward zero. As in Spark, 2^63 becomes the greatest BIGINT."""
    low, high = _range(target)
    numbers = values.fill_null(0.0).to_numpy()
    fits = (np.floor(numbers) <= float(high)) & (np.ceil(numbers) >= float(low))
    _reject_out_of_range(values, pl.Series(~fits) & values.is_not_null(), target, live)
    with np.errstate(all="ignore"):
        inside = np.where(fits & (numbers < 2.0**63), numbers, 0.0).astype(np.int64)
    result = np.where(fits & (numbers >= 2.0**63), high, inside)
    return _series(result, target, values.is_not_null())


def _reject_out_of_range(
    values: pl.Series, is_out: pl.Series, target: ScalarType, live: pl.Series | None
) -> None:
    outside = _live(is_out, live)
    if outside.any():
        _overflow(str(values.filter(outside)[0]), target)


def _live(flags: pl.Series, live: pl.Series | None) -> pl.Series:
    found = flags.fill_null(value=False)
    return found if live is None else found & live


def _of_doubles(one: Any, op: ArithmeticOperator, other: Any) -> Any:
    match op:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case "/":
            return one / other
        case "%":
            return np.fmod(one, other)


def _of_integers(
    one: Any, op: ArithmeticOperator, other: Any, kind: ScalarType
) -> tuple[Any, Bools]:
    """Returns the results, and which of them do not fit the type."""
    if op == "%":
        divisor = np.where((other == 0) | (other == -1), 1, other)  # n % -1 is 0, as n % 1
        return np.fmod(one, divisor), np.zeros(one.size, np.bool_)
    if op == "*":
        result = one * other
        if kind is ScalarType.BIGINT:
            divisor = np.where((one == 0) | (one == -1), 1, one)
            is_wrong = (result // divisor != other) | (result % divisor != 0)
            least = np.iinfo(np.int64).min
            return result, np.where(one == -1, other == least, (one != 0) & is_wrong)
    elif op == "+":
        result = one + other
        if kind is ScalarType.BIGINT:
            return result, ((one ^ result) & (other ^ result)) < 0
    else:
        result = one - other
        if kind is ScalarType.BIGINT:
            return result, ((one ^ other) & (one ^ result)) < 0
    low, high = _range(kind)
    return result, (result < low) | (result > high)


def _numbers(values: pl.Series, kind: ScalarType) -> Any:
    return values.cast(pl.Int64 if kind.is_integer else data_type(kind)).fill_null(0).to_numpy()


def _series(numbers: Any, kind: ScalarType, is_valid: pl.Series) -> pl.Series:
    found = pl.Series(numbers).cast(data_type(kind), strict=False)
    return found if is_valid.all() else found.set(~is_valid, None)


def _range(kind: ScalarType) -> tuple[int, int]:
    half = 2 ** (INTEGER_BITS[kind] - 1)
    return -half, half - 1


def _overflow(what: str, kind: ScalarType) -> NoReturn:
    _fail(f"{what} does not fit {kind.upper()}", "CAST to a wider type, such as DOUBLE.")


def _fail(what: str, fix: str) -> NoReturn:
    raise RunError("MS-RUN-VALUE", f"a predicate of ON fails for a pair of rows: {what}.", fix=fix)
