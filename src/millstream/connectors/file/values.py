"""Converts strings of a file to values, and checks the range of times.

Arrow converts a whole column at once or rejects all of it. If it rejects a column, this module
finds the strings that do not fit, so that the result for a string does not depend on others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.patterns import Pattern

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
LOCAL, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")
# The range of TIMESTAMP in microseconds, and of DATE in days.
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
_OFFSET = r"[ T]\d\d.*(Z|[+-][0-9:]+)$"  # after a time: a date ends like an offset
_FRACTIONS = {"epoch_seconds": 6, "epoch_millis": 3}  # digits, down to a microsecond
Mask = npt.NDArray[np.bool_]


class Epoch(StrEnum):
    """A time format: a number since 1970."""

    SECONDS = "epoch_seconds"
    MILLIS = "epoch_millis"


ISO = "iso8601"
TimeFormat = Epoch | Pattern | None  # None: ISO 8601


def time_format(text: str) -> TimeFormat:
    """Parses 'timestamp.format'; raises PatternError if it is not supported."""
    if text.lower() in ("", ISO):
        return None
    known = {str(each): each for each in Epoch}
    return known.get(text.lower()) or Pattern(text)


def format_name(form: TimeFormat) -> str:
    return ISO if form is None else form.text if isinstance(form, Pattern) else str(form)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of files: its name, the Arrow type in which it is read, and its SQL type."""

    name: str
    type: pa.DataType
    sql: str
    format: TimeFormat = None

    @property
    def type_name(self) -> str:
        """The type with its article, for messages."""
        if pa.types.is_timestamp(self.type):
            return f"a {self.sql} (timestamp.format {format_name(self.format)})"
        return f"{'an' if self.sql[0] in 'AEIOU' else 'a'} {self.sql}"

    def convert_strings(self, texts: pa.Array) -> tuple[pa.Array, Mask]:
        """Returns the values of strings, NULL for those that do not fit, and a mask of these."""
        blank = pc.equal(texts, pa.scalar("", texts.type))
        if not is_text(self.type) and pc.any(blank).as_py():
            texts = pc.if_else(blank, pa.scalar(None, texts.type), texts)  # a quoted empty value
        if isinstance(self.format, Pattern) and pa.types.is_timestamp(self.type):
            return self._by_pattern(texts.cast(pa.string()))
        none = np.zeros(len(texts), bool)
        try:
            return self.values(texts), none
        except pa.ArrowInvalid:
            none |= ~self._possible(texts)
        possible = pc.if_else(none, pa.scalar(None, texts.type), texts)
        none[list(self._unfit(possible, 0))] = True
        return self.values(pc.if_else(none, pa.scalar(None, texts.type), texts)), none

    def _possible(self, texts: pa.Array) -> Mask:
        """A fast first check: returns a mask of strings with only characters of the type."""
        for matches_type, characters in _CHARACTERS:
            if matches_type(self.type):
                matched = pc.match_substring_regex(texts.cast(pa.string()), f"^[ \t{characters}]*$")
                return pc.fill_null(matched, True).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
        return np.ones(len(texts), bool)

    def _unfit(self, texts: pa.Array, first: int) -> Iterator[int]:
        try:
            self.values(texts)
        except pa.ArrowInvalid:
            half = len(texts) // 2
            if half == 0:
                yield first
            else:
                yield from self._unfit(texts[:half], first)
                yield from self._unfit(texts[half:], first + half)

    def _by_pattern(self, texts: pa.Array) -> tuple[pa.Array, Mask]:
        assert isinstance(self.format, Pattern)
        micros, valid = self.format.micros(texts)
        valid &= (micros >= FIRST) & (micros <= LAST)
        none = ~valid & texts.is_valid().to_numpy(zero_copy_only=False)
        return pa.array(micros, pa.int64(), mask=~valid).cast(self.type), none

    def values(self, texts: pa.Array) -> pa.Array:
        """Returns the values of strings; raises ArrowInvalid if one does not fit."""
        kind = self.type
        if pa.types.is_binary(kind):
            return texts.cast(kind)
        text = texts.cast(pa.string())
        if pa.types.is_string(kind):
            return text
        if pa.types.is_boolean(kind):
            return _booleans(text)
        if pa.types.is_timestamp(kind) and isinstance(self.format, Pattern):
            found, none = self._by_pattern(text)
            if none.any():
                raise pa.ArrowInvalid("not a time")
            return found
        text = pc.utf8_trim(text, " \t")
        if pa.types.is_timestamp(kind):
            if isinstance(self.format, Epoch):
                return in_range(_since_epoch(text, self.format).cast(kind))
            return in_range(times(text) if kind.tz else local_times(text))
        value = in_range(text.cast(kind))
        if pa.types.is_floating(kind):
            _reject_overflow(text, value)
        return value


_CHARACTERS = (
    (pa.types.is_integer, "+0-9a-fA-FxX-"),
    (pa.types.is_floating, "+.0-9a-zA-Z-"),
    (pa.types.is_decimal, "+.0-9eE-"),
    (pa.types.is_date, "0-9-"),
)


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def in_range(column: pa.Array) -> pa.Array:
    """Returns the column; raises ArrowInvalid if a time or decimal is out of Spark's range."""
    kind = column.type
    if pa.types.is_decimal(kind):
        column.validate(full=True)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        day = pa.types.is_date(kind)
        low, high = (FIRST_DAY, LAST_DAY) if day else (FIRST, LAST)
        ends = pc.min_max(column.view(pa.int32() if day else pa.int64()))
        least, most = ends["min"].as_py(), ends["max"].as_py()
        if least is not None and (least < low or most > high):
            raise pa.ArrowInvalid("out of range")
    return column


def _reject_overflow(text: pa.Array, value: pa.Array) -> None:
    """Rejects numbers such as `1e999`, which become infinite; `Infinity` itself is valid."""
    large = pc.is_inf(value)
    if (
        pc.any(large).as_py()
        and pc.any(pc.match_substring_regex(text.filter(large), r"\d")).as_py()
    ):
        raise pa.ArrowInvalid("out of range")


def _booleans(text: pa.Array) -> pa.Array:
    place = pc.index_in(text, pa.array([*TRUE, *FALSE]))
    if place.null_count > text.null_count:
        raise pa.ArrowInvalid("not a boolean")
    return pc.less(place, len(TRUE))


def _since_epoch(text: pa.Array, unit: Epoch) -> pa.Array:
    digits = _FRACTIONS[unit]
    exact = text.cast(pa.decimal128(28, digits))
    micros = pc.multiply(exact, pa.scalar(10**digits, pa.decimal128(7, 0)))
    return micros.cast(pa.decimal128(38, digits)).cast(pa.int64())


def times(text: pa.Array) -> pa.Array:
    """Parses ISO 8601 times; those without a UTC offset are in UTC."""
    zoned, none = pc.match_substring_regex(text, _OFFSET), pa.scalar(None, pa.string())
    here = pc.if_else(zoned, none, text).cast(LOCAL)
    return pc.coalesce(here.cast(ZONED), pc.if_else(zoned, text, none).cast(ZONED))


def local_times(text: pa.Array) -> pa.Array:
    """Parses ISO 8601 times without a UTC offset."""
    return text.cast(LOCAL)


def time_form(texts: pa.Array) -> pa.DataType:
    """Returns the type in which Arrow reads these times; strings if only some have an offset."""
    zoned = pc.match_substring_regex(texts, _OFFSET)
    if pc.all(zoned).as_py():
        return ZONED
    return pa.string() if pc.any(zoned).as_py() else LOCAL
