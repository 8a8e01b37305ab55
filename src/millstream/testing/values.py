"""Converts input values of a test case to Python values of Spark's types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches

from millstream.errors import HarnessError
from millstream.sql.limits import describe_character
from millstream.testing.case import Row

_WHOLE = {  # the bits of each
    **dict.fromkeys(("tinyint", "byte"), 8),
    **dict.fromkeys(("smallint", "short"), 16),
    **dict.fromkeys(("int", "integer"), 32),
    **dict.fromkeys(("bigint", "long"), 64),
}
_REAL = ("float", "real", "double")
_DECIMAL = ("decimal", "dec", "numeric")
_TEXT = ("string", "varchar", "char")


def instant(value: str) -> datetime:
    """Parses an ISO 8601 time; without a UTC offset it is in UTC."""
    moment = datetime.fromisoformat(value.strip())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def convert_value(value: object, type_: str, *, text: bool = False) -> object:
    """Converts a value to the Python type of Spark's `type_`. `text`: it is a string from CSV.

    Values of nested types are returned unchanged. Raises ValueError if the value does not fit.
    """
    if value is None:
        return None
    name = re.split(r"[(<\s]", type_.strip().lower(), maxsplit=1)[0]
    if name in _TEXT:
        return _as_text(value)
    if name in _WHOLE:
        number = int(value) if text and isinstance(value, str) else _as_int(value)
        if not -(1 << _WHOLE[name] - 1) <= number < 1 << _WHOLE[name] - 1:
            raise ValueError(f"{number} does not fit in {name}")
        return number
    if name in _REAL:
        return float(value) if text and isinstance(value, str) else _as_float(value)
    if name in _DECIMAL:
        return _fitting(_as_decimal(value), type_)
    convert = _CONVERT.get(name)
    return convert(value) if convert else value


def _as_text(value: object) -> str:
    if isinstance(value, str):
        if found := re.search("[\ud800-\udfff]", value):
            raise ValueError(describe_character(found[0]))
        return value
    raise ValueError(f"{value!r} is not a string; put it in quotes")


def _as_int(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{value!r} is not an integer")


def _as_float(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{value!r} is not a number")


def _as_decimal(value: object) -> Decimal:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            pass
    raise ValueError(f"{value!r} is not a decimal number")


def _fitting(number: Decimal, type_: str) -> Decimal:
    """Returns a decimal; raises ValueError if it has more digits than its type."""
    found = re.search(r"\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\)", type_)
    precision, scale = (int(found[1]), int(found[2] or 0)) if found else (10, 0)
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{number} is not a decimal number")  # noqa: TRY004 -- NaN, Infinity
    last = max((place for place, digit in enumerate(digits, 1) if digit), default=0)
    places = last - len(digits) - exponent  # after the point, without zeros at the end
    if last and (len(digits) + exponent > precision - scale or places > scale):
        raise ValueError(f"{number} does not fit in {type_}")
    return number


def _as_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ValueError(f"{value!r} is neither true nor false")


def _as_date(value: object) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str):
        return date.fromisoformat(value)
    raise ValueError(f"{value!r} is not a date")


def _as_timestamp(value: object) -> datetime:
    if isinstance(value, str):
        return instant(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise ValueError(f"{value!r} is not a timestamp")


def _as_local_timestamp(value: object) -> datetime:
    return _as_timestamp(value).replace(tzinfo=None)


def _as_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return _as_text(value).encode()


_CONVERT: dict[str, Callable[[object], object]] = {
    "boolean": _as_bool,
    "date": _as_date,
    "timestamp": _as_timestamp,
    "timestamp_ltz": _as_timestamp,
    "timestamp_ntz": _as_local_timestamp,
    "binary": _as_bytes,
}


def fill_rows(
    rows: Iterable[Row], columns: Mapping[str, str], source: str, *, text: bool = False
) -> list[tuple[object, ...]]:
    """Returns rows as tuples in the order of `columns` (name to type); missing values are NULL."""
    filled = []
    for number, row in enumerate(rows, 1):
        where = f"row {number} of input {source}"
        for name in row:
            if name not in columns:
                near = get_close_matches(name, columns, n=1)
                fix = (
                    f"Did you mean {near[0]!r}?"
                    if near
                    else f"Its columns are {', '.join(columns)}."
                )
                raise HarnessError(
                    "MS-TEST-COLUMNS",
                    f"{where} has a column {name!r}, which {source} does not have.",
                    fix=fix,
                )
        try:
            filled.append(
                tuple(
                    convert_value(row.get(name), type_, text=text)
                    for name, type_ in columns.items()
                )
            )
        except (ValueError, OverflowError) as error:
            raise HarnessError("MS-TEST-VALUE", f"{where}: {error}.") from None
    return filled
