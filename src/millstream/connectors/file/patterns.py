"""Datetime patterns of `'timestamp.format'`, with the letters of Spark's patterns.

A pattern becomes a regular expression, and times are computed from its groups, a whole column at
once. A string must match exactly: without blanks around it, with all digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_SHORT = 3
_NUMBERS = {
    "M": "month",
    "L": "month",
    "d": "day",
    "H": "hour",
    "h": "half",
    "m": "minute",
    "s": "second",
}
_OFFSETS = {
    "X": r"Z|[+-]\d\d(?:\d\d)?",
    "XX": r"Z|[+-]\d{4}",
    "XXX": r"Z|[+-]\d\d:\d\d",
    "x": r"[+-]\d\d(?:\d\d)?",
    "xx": r"[+-]\d{4}",
    "xxx": r"[+-]\d\d:\d\d",
    "Z": r"[+-]\d{4}",
    "ZZ": r"[+-]\d{4}",
    "ZZZ": r"[+-]\d{4}",
    "ZZZZZ": r"Z|[+-]\d\d:\d\d",
}
_ITEM = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_DIGITS = 6  # of a second's fraction, in microseconds
Integers = npt.NDArray[np.int64]


class PatternError(ValueError):
    """A pattern is not supported; the message says why."""


@dataclass(slots=True)
class Pattern:
    """A datetime pattern, parsed."""

    text: str
    _regex: str = field(init=False)
    _groups: list[tuple[str, str]] = field(init=False)  # the meaning and the name of each group

    def __post_init__(self) -> None:
        self._groups = []
        self._regex = "^(?:" + "".join(self._parts()) + ")$"
        known = {meaning for meaning, _ in self._groups}
        for needed in ("year", "month", "day"):
            if not known & {needed, f"{needed} name"}:
                raise PatternError(f"has no {needed}")
        if ("half" in known) != ("am or pm" in known):
            raise PatternError("has 'h' without 'a', or 'a' without 'h'")

    def _parts(self) -> list[str]:
        parts, depth = [], 0
        for item in _ITEM.finditer(self.text):
            quoted, letter, other = item.groups()
            if letter is not None:
                parts.append(self._letters(letter, item[0]))
            elif other == "[":
                depth += 1
                parts.append("(?:")
            elif other == "]":
                depth -= 1
                parts.append(")?")
            else:
                literal = other if quoted is None else quoted.replace("''", "'") or "'"
                parts.append(re.escape(literal))
            if depth < 0:
                break
        if depth or self.text.count("'") % 2:
            raise PatternError("has a bracket or a quote that is not closed")
        return parts

    def _letters(self, letter: str, run: str) -> str:
        count = len(run)
        if letter in "yu" and count in (1, 2, 4):
            return self._group("year", r"\d\d" if count == 2 else r"\d{4}")
        if letter in _NUMBERS and count <= 2:
            return self._group(_NUMBERS[letter], r"\d\d?" if count == 1 else r"\d\d")
        if letter in "ML" and count in (3, 4):
            return self._group("month name", _names(_MONTHS, count == _SHORT))
        if letter == "E" and count <= 4:
            return f"(?:{_names(_DAYS, count <= _SHORT)})"
        if letter == "S" and count <= 9:
            return self._group("fraction", rf"\d{{1,{count}}}")
        if letter == "a" and count == 1:
            return self._group("am or pm", "(?i:AM|PM)")
        if run in _OFFSETS:
            return self._group("offset", _OFFSETS[run])
        raise PatternError(f"has {run!r}, which is not supported")

    def _group(self, meaning: str, regex: str) -> str:
        name = f"g{len(self._groups)}"
        self._groups.append((meaning, name))
        return f"(?P<{name}>{regex})"

    def micros(self, texts: pa.Array) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Returns microseconds since 1970 in UTC, and a mask of the valid strings."""
        found = pc.extract_regex(texts, self._regex)
        valid = found.is_valid().to_numpy(zero_copy_only=False)
        values: dict[str, pa.Array] = {}
        for meaning, name in self._groups:
            value = pc.struct_field(found, name)
            value = pc.if_else(pc.equal(value, ""), pa.scalar(None, pa.string()), value)
            values[meaning] = pc.coalesce(values[meaning], value) if meaning in values else value
        return _computed(values, valid)


def _names(names: str, short: bool) -> str:
    return "|".join(name[:_SHORT] if short else name for name in names.split())


def _computed(
    values: Mapping[str, pa.Array], valid: npt.NDArray[np.bool_]
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    def number(meaning: str, default: int = 0) -> Integers:
        if meaning not in values:
            return np.full(len(valid), default, np.int64)
        return pc.fill_null(values[meaning].cast(pa.int64()), default).to_numpy()  # type: ignore[no-any-return]

    year, month, day = number("year"), number("month", 1), number("day", 1)
    if "year" in values:
        short = pc.equal(pc.utf8_length(values["year"]), 2)
        year = np.where(
            pc.fill_null(short, False).to_numpy(zero_copy_only=False), year + 2000, year
        )
    if "month name" in values:
        short_names = pa.array([name[:_SHORT] for name in _MONTHS.split()])
        begins = pc.utf8_slice_codeunits(values["month name"], 0, _SHORT)
        month = pc.fill_null(pc.index_in(begins, short_names), 0).to_numpy().astype(np.int64) + 1
    hour, minute, second = number("hour"), number("minute"), number("second")
    if "half" in values:
        half = number("half", 12)
        later = pc.fill_null(pc.equal(pc.utf8_upper(values["am or pm"]), "PM"), False)
        hour = half % 12 + 12 * later.to_numpy(zero_copy_only=False)
        valid = valid & (half >= 1) & (half <= 12)
    fraction = np.zeros(len(valid), np.int64)
    if "fraction" in values:
        digits = pc.utf8_rpad(pc.fill_null(values["fraction"], "0"), 9, "0")
        nanos = digits.cast(pa.int64()).to_numpy()
        fraction, rest = np.divmod(nanos, 10 ** (9 - _DIGITS))
        valid = valid & (rest == 0)
    valid = valid & (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    valid = valid & (hour < 24) & (minute < 60) & (second < 60)
    months = (np.where(valid, year, 1970) - 1970) * 12 + np.where(valid, month, 1) - 1
    first = months.astype("datetime64[M]").astype("datetime64[D]")
    date = first + (np.where(valid, day, 1) - 1)
    valid = valid & (date.astype("datetime64[M]").astype(np.int64) == months)
    seconds = date.astype(np.int64) * 86_400 + hour * 3600 + minute * 60 + second
    return (seconds - _offset(values, len(valid))) * 1_000_000 + fraction, valid


def _offset(values: Mapping[str, pa.Array], count: int) -> Integers:
    if "offset" not in values:
        return np.zeros(count, np.int64)
    text = pc.replace_substring(pc.fill_null(values["offset"], "Z"), ":", "")
    text = pc.if_else(pc.equal(text, "Z"), "+0000", text)
    sign = pc.if_else(pc.starts_with(text, "-"), -1, 1).to_numpy()
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(text, 1, 5), 4, "0").cast(pa.int64()).to_numpy()
    hours, minutes = np.divmod(digits, 100)
    return sign * (hours * 3600 + minutes * 60)  # type: ignore[no-any-return]
