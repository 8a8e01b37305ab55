"""Converts interval literals to microseconds."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from millstream.errors import PropertyError
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText
from millstream.temporal import (
    MICROS,
    DurationRangeError,
    check_range,
    has_too_many_digits,
    parse_span,
    unit_micros,
)

_TIME_OF_DAY = re.compile(
    r"\s*(?P<sign>[+-]?)(?:(?P<days>\d+)\s+)?(?P<parts>\d+(?::\d+)*)(?P<fraction>\.\d+)?\s*"
)
_FIELD_UNITS = {"DAY": "d", "HOUR": "h", "MINUTE": "m", "SECOND": "s"}


def interval_micros(node: exp.Expr, text: SourceText | None = None) -> int | None:
    """Returns the microseconds of an interval or a sum of intervals; None without a fixed length.

    Raises DurationRangeError, with its position in `text`, for an interval that is out of range.
    """
    try:
        micros = _micros(node)
        return None if micros is None else check_range(micros, _written(node, text))
    except DurationRangeError:
        span = span_of(node)
        place = text.place(span[0]) if span and text else None
        raise DurationRangeError.of(_written(node, text)).at(place) from None


def _written(node: exp.Expr, text: SourceText | None) -> str:
    span = span_of(node)
    return text.parsed[span[0] : span[1] + 1] if span and text else node.sql("spark")


def _micros(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Paren):
        return _micros(node.this)
    if isinstance(node, exp.Neg):
        return _multiply(_micros(node.this), -1)
    if isinstance(node, exp.Add | exp.Sub):
        left, right = _micros(node.this), _micros(node.expression)
        if left is None or right is None:
            return None
        return left + right if isinstance(node, exp.Add) else left - right
    if isinstance(node, exp.Mul):
        for interval, factor in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(factor, exp.Literal) and not factor.is_string:
                times = _micros(interval)
                if times is not None and has_too_many_digits(factor.name):
                    raise DurationRangeError.of(factor.name)
                if factor.is_int:
                    return _multiply(times, int(factor.name))
        return None
    return _literal_micros(node) if isinstance(node, exp.Interval) else None


def _multiply(micros: int | None, factor: int) -> int | None:
    return None if micros is None else micros * factor


def _literal_micros(interval: exp.Interval) -> int | None:
    number, unit = interval.this, interval.args.get("unit")
    if isinstance(number, exp.Neg) and isinstance(number.this, exp.Literal):
        number = exp.Literal.string(f"-{number.this.name}")
    if not isinstance(number, exp.Literal):
        return None
    if any(map(has_too_many_digits, re.findall(r"[\d.]+", number.name))):
        raise DurationRangeError.of(number.name)
    if isinstance(unit, exp.IntervalSpan):
        return _field_micros(number.name, unit.this.name, unit.expression.name)
    if unit is None:
        try:
            return parse_span(number.name, signed_parts=True)
        except DurationRangeError:
            raise
        except PropertyError:
            return None
    micros = unit_micros(unit.name)
    if micros is None or not re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", number.name):
        return None
    span = Decimal(number.name.strip()) * micros
    return int(span) if span == int(span) else None


def _field_micros(text: str, first: str, last: str) -> int | None:
    """Returns the microseconds of '1:30' HOUR TO MINUTE or '1 02:03:04.5' DAY TO SECOND."""
    units = list(_FIELD_UNITS)
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None or first.upper() not in units or last.upper() not in units:
        return None
    named = units[units.index(first.upper()) : units.index(last.upper()) + 1]
    parts = [*([match["days"]] if match["days"] else []), *match["parts"].split(":")]
    starts_with_days = named[:1] == ["DAY"]
    if len(parts) != len(named) or starts_with_days != bool(match["days"]):
        return None
    total = sum(
        int(part) * MICROS[_FIELD_UNITS[unit]] for part, unit in zip(parts, named, strict=True)
    )
    if match["fraction"]:
        if named[-1] != "SECOND":
            return None
        total += int(Decimal(match["fraction"]) * MICROS["s"])
    return -total if match["sign"] == "-" else total
