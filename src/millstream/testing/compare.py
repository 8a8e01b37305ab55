"""Compares expected values with actual values, by keys that can be compared and hashed.

Numbers are compared by value (5, 5.0 and a decimal 5.00 are equal), times by instant; NULL equals
NULL. Strings are strings: the expected "5" is not the number 5. A string is converted to another
type only if YAML cannot represent that type (times, dates, exact decimals), or in CSV, where all
values are strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from millstream.errors import PropertyError
from millstream.temporal import parse_span
from millstream.testing.values import instant

ComparisonKey = tuple[object, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
NULL: ComparisonKey = ("null",)


def kind(value: object) -> str:
    """Returns the name of a value's type for diffs."""
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


def comparison_key(value: object) -> ComparisonKey:
    """Returns a key that is equal for equal values, whatever their Python types."""
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


def _nested(value: object) -> ComparisonKey:
    if isinstance(value, Mapping):
        parts = sorted(
            ((str(name), comparison_key(part)) for name, part in value.items()), key=repr
        )
        return ("struct", *parts)
    if isinstance(value, list | tuple):
        return ("list", *(comparison_key(part) for part in value))
    return (kind(value), value)


def _number(value: float | Decimal) -> ComparisonKey:
    if math.isnan(value):
        return ("number", "nan")
    # A float is compared by its shortest representation: 0.1 equals the decimal 0.1.
    return ("number", Decimal(repr(value)) if isinstance(value, float) else Decimal(value))


def _instant(value: datetime) -> ComparisonKey:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return ("time", (moment - _EPOCH) // _MICRO)


def expected_key(value: object, kinds: Iterable[str], *, text: bool = False) -> ComparisonKey:
    """Returns the key of an expected value, given the types of actual values in its column."""
    if isinstance(value, date) and not isinstance(value, datetime) and "time" in kinds:
        return _instant(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, str):
        readers = _READ_CSV if text else _READ_YAML
        for name in kinds:
            read = readers.get(name)
            try:
                if read:
                    return comparison_key(read(value))
            except (ValueError, InvalidOperation, PropertyError):
                continue
    return comparison_key(value)


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


def is_close(expected: ComparisonKey, actual: ComparisonKey, tolerance: float) -> bool:
    """Whether two numbers differ by at most the tolerance. Other values must be equal."""
    match expected, actual:
        case ("number", Decimal() as a), ("number", Decimal() as b) if (
            a.is_finite() & b.is_finite()
        ):
            return abs(a - b) <= Decimal(repr(float(tolerance)))
    return expected == actual


def pair_equal(
    expected: Sequence[tuple[ComparisonKey, ...]], actual: Sequence[tuple[ComparisonKey, ...]]
) -> dict[int, int]:
    """Pairs equal rows: maps expected to actual rows by number, each used at most once."""
    rows_by_key: dict[tuple[ComparisonKey, ...], list[int]] = {}
    for i in reversed(range(len(actual))):
        rows_by_key.setdefault(actual[i], []).append(i)
    return {i: rows_by_key[row].pop() for i, row in enumerate(expected) if rows_by_key.get(row)}


def pair_close(
    expected: Sequence[tuple[ComparisonKey, ...]],
    actual: Sequence[tuple[ComparisonKey, ...]],
    tolerances: Sequence[float | None],
) -> dict[int, int]:
    """Pairs as many close rows as possible: closeness is not transitive, so a greedy choice would
    not be optimal."""
    candidates = [
        [
            j
            for j, row in enumerate(actual)
            if all(
                is_close(a, b, tolerance) if tolerance is not None else a == b
                for a, b, tolerance in zip(each, row, tolerances, strict=True)
            )
        ]
        for each in expected
    ]
    assigned: dict[int, int] = {}

    def assign(i: int, tried: set[int]) -> bool:
        """Assigns an actual row to expected row i, reassigning others if needed."""
        for j in candidates[i]:
            if j not in tried:
                tried.add(j)
                if j not in assigned or assign(assigned[j], tried):
                    assigned[j] = i
                    return True
        return False

    for i in range(len(expected)):
        assign(i, set())
    return {i: j for j, i in assigned.items()}
