"""When is an expected value the actual one? Values become marks that can be compared and hashed.

Numbers compare by value (5, 5.0 and a decimal 5.00 are one), times by instant, NULL is NULL. Text
is text: the expected "5" is not the number 5. A text stands for another kind only where YAML has
no way to write that kind (times, dates, exact decimals), or where all is text (CSV).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from millstream.errors import PropertyError
from millstream.temporal import parse_span
from millstream.testing.values import instant

Mark = tuple[object, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
NULL: Mark = ("null",)


def kind(value: object) -> str:
    """What sort of value this is, in words that a reader of a diff knows."""
    if value is None:
        return "null"
    for type_, name in _KINDS:
        if isinstance(value, type_):
            return name
    return type(value).__name__


# In this order: a bool is an int and a datetime is a date in Python.
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "number"),
    (float, "number"),
    (Decimal, "decimal"),
    (str, "text"),
    (datetime, "time"),
    (date, "date"),
    (timedelta, "span"),
    (bytes, "bytes"),
    (bytearray, "bytes"),
    (Mapping, "struct"),
    (list, "list"),
    (tuple, "list"),
)


def mark(value: object) -> Mark:
    """Equal for equal values, whatever Python type carries them."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, timedelta):
        return ("span", value // _MICRO)
    if isinstance(value, bytes | bytearray):
        return ("bytes", bytes(value))
    return _nested(value)


def _nested(value: object) -> Mark:
    if isinstance(value, Mapping):
        parts = sorted(((str(name), mark(part)) for name, part in value.items()), key=repr)
        return ("struct", *parts)
    if isinstance(value, list | tuple):
        return ("list", *(mark(part) for part in value))
    return (kind(value), value)


def _number(value: float | Decimal) -> Mark:
    if math.isnan(value):
        return ("number", "nan")
    # A float stands for its shortest text: 0.1 is the decimal 0.1, as a reader means it.
    return ("number", Decimal(repr(value)) if isinstance(value, float) else Decimal(value))


def _instant(value: datetime) -> Mark:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return ("time", (moment - _EPOCH) // _MICRO)


def expected_mark(value: object, kinds: Iterable[str], *, text: bool = False) -> Mark:
    """The mark of an expected value beside actual values of these kinds in the same column."""
    if isinstance(value, date) and not isinstance(value, datetime) and "time" in kinds:
        return _instant(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, str):
        readers = _READ_CSV if text else _READ_YAML
        for name in kinds:
            read = readers.get(name)
            try:
                if read:
                    return mark(read(value))
            except (ValueError, InvalidOperation, PropertyError):
                continue
    return mark(value)


def _bool(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(value)
    return value.lower() == "true"


_READ_YAML: dict[str, Callable[[str], object]] = {
    "time": instant,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "span": lambda text: timedelta(microseconds=parse_span(text)),
    "bytes": str.encode,
}
_READ_CSV: dict[str, Callable[[str], object]] = _READ_YAML | {"number": Decimal, "bool": _bool}


def near(expected: Mark, actual: Mark, tolerance: float) -> bool:
    """Are both numbers and no further apart than the tolerance? Other values must be equal."""
    match expected, actual:
        case ("number", Decimal() as a), ("number", Decimal() as b) if (
            a.is_finite() & b.is_finite()
        ):
            return abs(a - b) <= Decimal(repr(float(tolerance)))
    return expected == actual
