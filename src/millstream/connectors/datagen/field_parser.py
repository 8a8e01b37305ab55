"""Parses the options of one column of a `datagen` source."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from millstream.connectors.datagen.field import (
    DISTRIBUTIONS,
    FLOATS,
    INTEGERS,
    NUMBER_OPTIONS,
    PREFIX,
    TIMES,
    Field,
    PlaceOf,
    invalid_option,
)
from millstream.errors import PropertyError
from millstream.temporal import parse_span

MAX_RANKS = 1_000_000  # values of a zipf distribution
_DEFAULT_MAXIMUM = 1_000_000
_MAX_LENGTH = 100_000
_DECIMAL = re.compile(r"decimal(?:\((\d+)(?:,(\d+))?\))?")
_MAX_UNSCALED = 10**18 - 1


@dataclass(frozen=True, slots=True)
class FieldParser:
    """Parses the options of one column."""

    name: str
    type: str
    options: Mapping[str, str]
    place_of: PlaceOf

    def field(self) -> Field:
        kind = self._one_of("kind", self._kinds())
        null_rate = self._number("null.rate", 0, 0, 1)
        if self.type in TIMES:
            self._only("kind", "null.rate", "max.past")
            return Field(self.name, self.type, kind, max_past=self._past(), null_rate=null_rate)
        if kind == "sequence":
            return self._sequence(null_rate)
        if self.type == "boolean":
            self._only("kind", "null.rate")
            return Field(self.name, self.type, null_rate=null_rate)
        if self.type == "binary" or (self.type == "string" and "min" not in self.options):
            return self._text(null_rate)
        return self._numbers(null_rate)

    def _kinds(self) -> tuple[str, ...]:
        if self.type in TIMES:
            return ("time",)
        if self.type in ("boolean", "binary", *FLOATS):
            return ("random",)
        if self.type in INTEGERS or self.type == "string" or self._decimal():
            return ("random", "sequence")
        raise PropertyError(
            "MS-PROP-DATAGEN",
            f"datagen cannot generate the column {self.name}: its type is {self.type.upper()}.",
            fix="Declare a number, STRING, BOOLEAN, BINARY, DATE or TIMESTAMP, and make other "
            "values in the query.",
            place=self.place_of(""),
        )

    def _sequence(self, null_rate: float) -> Field:
        self._only("kind", "start", "end", "null.rate")
        low, high = self._range()
        start = self._number("start", 0, low, high)
        end = self._number("end", None, start, high)
        return Field(self.name, self.type, "sequence", start, end, self._scale, null_rate=null_rate)

    def _text(self, null_rate: float) -> Field:
        values = tuple(each.strip() for each in self.options.get("values", "").split(","))
        if values != ("",) and self.type == "string":
            self._only("kind", "values", "distribution", "skew", "null.rate")
            distribution = self._one_of("distribution", ("uniform", "zipf"))
            skew = self._number("skew", 1, 0, 100)
            high = len(values) - 1
            return Field(
                *(self.name, self.type, "random", 0, high, 0, distribution),
                skew=skew, values=values, null_rate=null_rate,
            )  # fmt: skip
        self._only("kind", "length", "null.rate")
        length = int(self._number("length", 16, 1, _MAX_LENGTH, whole=True))
        return Field(self.name, self.type, length=length, null_rate=null_rate)

    def _numbers(self, null_rate: float) -> Field:
        self._only("kind", *NUMBER_OPTIONS, "null.rate")
        least, most = self._range()
        low = self._number("min", 0, least, most)
        high = self._number("max", self._default_maximum(low, most), low, most)
        distribution = self._one_of("distribution", DISTRIBUTIONS)
        if distribution != "normal":
            self._without("stddev", "distribution", "normal")
        if distribution not in ("normal", "exponential"):
            self._without("mean", "distribution", "normal or exponential")
        if distribution != "zipf":
            self._without("skew", "distribution", "zipf")
        elif self.type in FLOATS or high - low >= MAX_RANKS:
            raise invalid_option(
                f"{PREFIX}{self.name.lower()}.distribution",
                "zipf",
                f"zipf for at most {MAX_RANKS:,} whole numbers: set 'min' and 'max'",
                self.place_of,
            )
        middle = (low + high) / 2 if distribution == "normal" else low + (high - low) / 10
        mean = self._number("mean", middle, low, high)
        stddev = self._number("stddev", (high - low) / 6, 0, None)
        return Field(
            *(self.name, self.type, "random", low, high, self._scale, distribution),
            mean=mean, stddev=stddev, skew=self._number("skew", 1, 0, 100), null_rate=null_rate,
        )  # fmt: skip

    def _default_maximum(self, low: float, most: float) -> float:
        if self.type in FLOATS:
            return low + 1
        maximum: int = _DEFAULT_MAXIMUM * 10**self._scale
        return min(low + maximum, most)

    def _range(self) -> tuple[float, float]:
        """Returns the least and the greatest value of the type; unscaled for a DECIMAL."""
        if self.type in FLOATS:
            return -math.inf, math.inf
        if decimal := self._decimal():
            most = min(10 ** decimal[0] - 1, _MAX_UNSCALED)
            return -most, most
        bits = INTEGERS.get(self.type, 64) - 1
        return -(2**bits), 2**bits - 1

    def _decimal(self) -> tuple[int, int] | None:
        found = _DECIMAL.fullmatch(self.type)
        return (int(found[1] or 10), int(found[2] or 0)) if found else None

    @property
    def _scale(self) -> int:
        return (self._decimal() or (0, 0))[1]

    def _past(self) -> int:
        text = self.options.get("max.past")
        if text is None:
            return 0
        try:
            return parse_span(text)
        except PropertyError as error:
            raise error.at(self.place_of(self._property("max.past"))) from None

    def _number(
        self, option: str, default: float | None, low: float, high: float | None, *,
        whole: bool = False,
    ) -> float:  # fmt: skip
        """Returns a number of the column's type; unscaled for a DECIMAL."""
        text = self.options.get(option)
        if text is None:
            return default  # type: ignore[return-value] # None only for the end of a sequence
        is_value = option in ("min", "max", "start", "end", "mean", "stddev")
        exact = whole or (option in ("min", "max", "start", "end") and self.type not in FLOATS)
        try:
            value = Decimal(text) * (10**self._scale if is_value else 1)
            valid = value.is_finite() and not (exact and value != int(value))
        except (InvalidOperation, ValueError):
            valid, value = False, Decimal(0)
        number: float = int(value) if exact else float(value)
        if not valid or number < low or (high is not None and number > high):
            unit = 10 ** (self._scale if is_value else 0)
            raise invalid_option(
                self._property(option), text, _limits(low, high, unit, exact), self.place_of
            )
        return number

    def _one_of(self, option: str, values: tuple[str, ...]) -> str:
        text = self.options.get(option, values[0]).lower()
        if text not in values:
            raise invalid_option(
                self._property(option), text, f"one of {', '.join(values)}", self.place_of
            )
        return text

    def _only(self, *names: str) -> None:
        for option in self.options:
            if option not in names:
                raise PropertyError(
                    "MS-PROP-UNUSED",
                    f"'{self._property(option)}' has no effect on a column of this type and kind.",
                    fix=f"Remove it; the options are {', '.join(names)}.",
                    place=self.place_of(self._property(option)),
                )

    def _without(self, option: str, other: str, value: str) -> None:
        if option in self.options:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{self._property(option)}' applies to the {other} {value}.",
                fix=f"Remove it, or set '{self._property(other)}'.",
                place=self.place_of(self._property(option)),
            )

    def _property(self, option: str) -> str:
        return f"{PREFIX}{self.name.lower()}.{option}"


def _limits(low: float, high: float | None, unit: int, exact: bool) -> str:
    kind = "a whole number" if exact and unit == 1 else "a number"
    shown = [
        "" if each is None or math.isinf(each) else f"{Decimal(str(each)) / unit:f}"
        for each in (low, high)
    ]
    least = f", at least {shown[0]}" if shown[0] else ""
    return f"{kind}{least}" + (f", at most {shown[1]}" if shown[1] else "")
