"""Values of a case's inputs as the Python values of Spark's types, and rows filled to a schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches

from millstream.errors import HarnessError
from millstream.testing.case import Row

_WHOLE = ("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long")
_REAL = ("float", "real", "double")
_TEXT = ("string", "varchar", "char")


def instant(value: str) -> datetime:
    """The moment an ISO text names, in UTC; without an offset it is taken as UTC."""
    moment = datetime.fromisoformat(value.strip())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def typed(value: object, type_: str, *, text: bool = False) -> object:
    """`value` as Spark's `type_` wants it in Python. With `text`, it is a text of a CSV file.

    Raises ValueError for one that does not fit. Nested types pass as they are.
    """
    if value is None:
        return None
    name = re.split(r"[(<\s]", type_.strip().lower(), maxsplit=1)[0]
    if name in _TEXT:
        return _as_text(value)
    if name in _WHOLE:
        return int(value) if text and isinstance(value, str) else _as_int(value)
    if name in _REAL:
        return float(value) if text and isinstance(value, str) else _as_float(value)
    convert = _CONVERT.get(name)
    return convert(value) if convert else value


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"{value!r} is not text; put it in quotes")


def _as_int(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{value!r} is not a whole number")


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
    "decimal": _as_decimal,
    "dec": _as_decimal,
    "numeric": _as_decimal,
    "boolean": _as_bool,
    "date": _as_date,
    "timestamp": _as_timestamp,
    "timestamp_ltz": _as_timestamp,
    "timestamp_ntz": _as_local_timestamp,
    "binary": _as_bytes,
}


def fill(
    rows: Iterable[Row], columns: Mapping[str, str], source: str, *, text: bool = False
) -> list[tuple[object, ...]]:
    """Rows as tuples in the order of `columns` (name to type); what a row leaves out is NULL."""
    filled = []
    for number, row in enumerate(rows, 1):
        where = f"row {number} of input {source}"
        for name in row:
            if name not in columns:
                near = get_close_matches(name, columns, n=1)
                fix = f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(columns)}."
                raise HarnessError(
                    "MS-TEST-COLUMNS",
                    f"{where} has a column {name!r} that {source} lacks.",
                    fix=fix,
                )
        try:
            filled.append(
                tuple(typed(row.get(name), type_, text=text) for name, type_ in columns.items())
            )
        except ValueError as error:
            raise HarnessError("MS-TEST-VALUE", f"{where}: {error}.") from None
    return filled
