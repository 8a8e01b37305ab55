"""Converts text, as PostgreSQL writes values of any type, to columns of declared types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.lookup.types import Family, family

# What a session sets so that text has one form.
SETTINGS = ("bytea_output = 'hex'", "extra_float_digits = 1", "DateStyle = 'ISO'")


@dataclass(frozen=True, slots=True)
class UnreadableTextError(Exception):
    """A value that does not fit its declared type."""

    value: str


def typed(text: pa.Array, declared: pa.DataType) -> pa.Array:
    """Returns text as a declared type; raises UnreadableTextError."""
    convert = _CONVERSIONS.get(family(declared), _cast)
    try:
        return convert(text, declared)
    except (pa.ArrowInvalid, pl.exceptions.PolarsError):
        raise UnreadableTextError(_first_bad(text, declared, convert)) from None


def _first_bad(
    text: pa.Array, declared: pa.DataType, convert: Callable[[pa.Array, pa.DataType], pa.Array]
) -> str:
    """Bisects for the first value that cannot be converted."""
    while len(text) > 1:
        half = len(text) // 2
        try:
            convert(text[:half], declared)
            text = text[half:]
        except (pa.ArrowInvalid, pl.exceptions.PolarsError):
            text = text[:half]
    value = text.cast(pa.large_binary())[0].as_py()
    return cast("bytes", value).decode("utf-8", "replace")


def _cast(text: pa.Array, declared: pa.DataType) -> pa.Array:
    return pc.cast(text, declared)


def _strings(text: pa.Array, declared: pa.DataType) -> pa.Array:
    text.validate(full=True)  # a database without an encoding stores any bytes
    return text.cast(declared)


def _booleans(text: pa.Array, declared: pa.DataType) -> pa.Array:  # noqa: ARG001
    return pc.equal(text, "t")


def _whole_numbers(text: pa.Array, declared: pa.DataType) -> pa.Array:
    try:
        return pc.cast(text, declared)
    except pa.ArrowInvalid:  # numeric: 12.00
        return pc.cast(pc.replace_substring_regex(text, r"\.0*$", ""), declared)


def _bytes(text: pa.Array, declared: pa.DataType) -> pa.Array:
    digits = cast("pl.Series", pl.from_arrow(pc.utf8_slice_codeunits(text, 2)))
    return digits.str.decode("hex").to_arrow().cast(declared)


_CONVERSIONS: dict[Family, Callable[[pa.Array, pa.DataType], pa.Array]] = {
    "string": _strings,
    "boolean": _booleans,
    "whole": _whole_numbers,
    "binary": _bytes,
}
