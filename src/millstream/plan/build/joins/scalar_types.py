"""Types of the parts of a predicate over pairs of rows, by the rules of Spark in ANSI mode.

Where Spark would calculate in DECIMAL, or compare different kinds of values, an expression is
rejected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from millstream.plan.expressions import Expression
from millstream.scalars import (
    INTEGER_BITS,
    Cast,
    Comparator,
    Compare,
    Constant,
    PredicateOf,
    ScalarOf,
    ScalarType,
)
from millstream.sql.normal_type import normal_type

_FLIPPED: dict[Comparator, Comparator] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_DECIMAL_DIGITS = 18  # of literals that are compared with integers


class UnsupportedTypeError(Exception):
    """Why a kernel cannot evaluate an expression."""


@dataclass(frozen=True, slots=True)
class Value:
    """A typed expression. NULL has no node and takes any type; a literal with a decimal point
    becomes a DOUBLE or is compared with an integer."""

    node: ScalarOf[Expression] | None = None
    type: ScalarType | None = None
    decimal: Decimal | None = None

    @property
    def text(self) -> str | None:
        """The string if the value is a string literal."""
        if isinstance(self.node, Constant) and isinstance(self.node.value, str):
            return self.node.value
        return None


def scalar_type(text: str | None) -> ScalarType | None:
    """Returns a type of SQL as a type that kernels compute with."""
    kind = None if text is None else normal_type(text)
    return ScalarType(kind) if kind in tuple(ScalarType) else None


def literal_value(node: exp.Expr, sign: int = 1) -> Value:
    """Returns the value of a literal, with the type that Spark gives it."""
    if isinstance(node, exp.Null):
        return Value()
    if isinstance(node, exp.Boolean):
        return _constant(bool(node.this), ScalarType.BOOLEAN)
    text = str(node.this)
    if node.is_string:
        if "\\" in text or "'" in text or '"' in text:
            raise UnsupportedTypeError("the join does not read escapes and quotes in strings")
        return _constant(text, ScalarType.STRING)
    if text.isdecimal():
        return _integer(sign * int(text))
    if "e" in text.lower():
        return _constant(_finite(sign * float(text)), ScalarType.DOUBLE)
    return Value(decimal=sign * Decimal(text))


def _constant(value: bool | float | str, kind: ScalarType) -> Value:
    return Value(Constant(value, kind), kind)


def _integer(number: int) -> Value:
    for kind in (ScalarType.INT, ScalarType.BIGINT):
        if _fits(number, kind):
            return _constant(number, kind)
    raise UnsupportedTypeError("the number does not fit BIGINT")


def _fits(number: int, kind: ScalarType) -> bool:
    half = 2 ** (INTEGER_BITS[kind] - 1)
    return bool(-half <= number < half)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise UnsupportedTypeError("the number does not fit DOUBLE")
    return number


def common_type(values: Iterable[Value]) -> ScalarType:
    """Returns the type in which Spark computes with all of these values."""
    given = list(values)
    kinds = {each.type for each in given if each.type is not None}
    has_decimal = any(each.decimal is not None for each in given)
    if not kinds and not has_decimal:
        raise UnsupportedTypeError("no value has a type")
    if has_decimal and ScalarType.DOUBLE not in kinds:
        raise UnsupportedTypeError(
            "Spark calculates it in DECIMAL; write the number with an exponent (1.5e0) or CAST to "
            "DOUBLE"
        )
    if len(kinds) == 1:
        return next(iter(kinds))
    if not all(kind.is_numeric for kind in kinds):
        mixed = " and ".join(sorted(kind.upper() for kind in kinds))
        raise UnsupportedTypeError(f"it mixes {mixed}")
    if ScalarType.DOUBLE in kinds:
        return ScalarType.DOUBLE
    if ScalarType.FLOAT in kinds:
        raise UnsupportedTypeError("it mixes FLOAT and integers; CAST both to DOUBLE")
    return max(kinds, key=lambda kind: INTEGER_BITS[kind])


def as_type(value: Value, kind: ScalarType) -> ScalarOf[Expression]:
    """Returns the value with a type to which Spark converts it without loss of range."""
    if value.decimal is not None:
        if kind is not ScalarType.DOUBLE:
            raise UnsupportedTypeError(f"it is DECIMAL, not {kind.upper()}")
        return Constant(_finite(float(value.decimal)), kind)
    if value.node is None or value.type is None:
        return Constant(None, kind)
    if value.type is kind:
        return value.node
    if isinstance(value.node, Constant) and isinstance(value.node.value, int):
        return _converted_constant(value.node.value, value.type, kind)
    if not _is_widening(value.type, kind):
        raise UnsupportedTypeError(f"it is {value.type.upper()}, not {kind.upper()}")
    return Cast(value.node, value.type, kind)


def _converted_constant(number: int, source: ScalarType, kind: ScalarType) -> Constant:
    if source.is_integer and kind is ScalarType.DOUBLE:
        return Constant(float(number), kind)
    if not (source.is_integer and kind.is_integer and _fits(number, kind)):
        raise UnsupportedTypeError(f"it is {source.upper()}, not {kind.upper()}")
    return Constant(number, kind)


def _is_widening(source: ScalarType, target: ScalarType) -> bool:
    if source.is_integer and target.is_integer:
        return INTEGER_BITS[source] < INTEGER_BITS[target]
    return source.is_numeric and target is ScalarType.DOUBLE


def compare(left: Value, op: Comparator, right: Value) -> PredicateOf[Expression]:
    """Returns a comparison of two values in their common type."""
    for value, other, direction in ((left, right, op), (right, left, _FLIPPED[op])):
        if other.decimal is not None and value.type is not None and value.type.is_integer:
            return _compare_with_decimal(
                as_type(value, ScalarType.BIGINT), direction, other.decimal
            )
    kind = common_type((left, right))
    return Compare(as_type(left, kind), op, as_type(right, kind))


def _compare_with_decimal(
    value: ScalarOf[Expression], op: Comparator, decimal: Decimal
) -> PredicateOf[Expression]:
    """Returns the equivalent comparison of an integer with an integer."""
    _, digits, exponent = decimal.as_tuple()
    if len(digits) > _DECIMAL_DIGITS or -int(exponent) > _DECIMAL_DIGITS:
        raise UnsupportedTypeError("the number has too many digits")
    below = Constant(math.floor(decimal), ScalarType.BIGINT)
    if decimal == below.value:
        return Compare(value, op, below)
    match op:
        case ">" | ">=":
            return Compare(value, ">", below)
        case "<" | "<=":
            return Compare(value, "<=", below)
        case "=":
            return Compare(value, "<", value)  # FALSE, or NULL
        case "<>":
            return Compare(value, "=", value)
