"""Parses single JSON lines: their values, or why they are malformed.

This module defines how a JSON line is read. Arrow reads blocks of lines for speed; blocks that
Arrow might read differently are read here.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column, Epoch

_INFINITE = ("Infinity", "+Infinity", "INF", "+INF", "-Infinity", "-INF", "NaN")
_TEXTUAL = (pa.types.is_decimal, pa.types.is_date, pa.types.is_timestamp)  # converted from strings


class Number(str):
    """A JSON number in the notation of the file."""

    __slots__ = ()


class ValueMismatchError(ValueError):
    """A value does not fit its column."""


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_constant)


def parse_line(line: bytes, columns: Sequence[Column]) -> dict[str, Any] | Flaw:
    """Returns the object of a line, or a flaw."""
    try:
        text = line.decode()
        found, end = _DECODER.raw_decode(text)
    except UnicodeDecodeError:
        return Flaw("the line is not valid text in the file's encoding.")
    except RecursionError:
        return Flaw("the line is nested too deeply.")
    except ValueError as error:
        return Flaw(f"the line is not valid JSON: {error}.")
    if text[end:].strip():
        return Flaw("there is more than one JSON value in the line.")
    if not isinstance(found, dict):
        return Flaw("the line is not a JSON object.")
    if not any(column.name in found for column in columns):
        return Flaw("the object has none of the declared columns.")
    return found


def is_textual(kind: pa.DataType) -> bool:
    """Whether values of this type are converted from strings, a column at once."""
    return any(is_one(kind) for is_one in _TEXTUAL)


Convert = Callable[[Any], Any]


def converter(column: Column, kind: pa.DataType | None = None) -> Convert:
    """Returns a function that converts a JSON value other than null to a value of the column, or
    to a string for textual columns. It raises ValueMismatchError if the value does not fit."""
    kind = column.type if kind is None else kind
    for is_one, build in _CONVERTERS:
        if is_one(kind):
            return build(column, kind)
    return _texts(column, kind)


def _texts(column: Column, kind: pa.DataType) -> Convert:
    numeric = pa.types.is_decimal(kind) or (
        pa.types.is_timestamp(kind) and isinstance(column.format, Epoch)
    )

    def convert(value: Any) -> str:
        if not isinstance(value, str) or not value or (type(value) is Number and not numeric):
            raise ValueMismatchError
        return _encodable(value)

    return convert


def _inner(column: Column, kind: pa.DataType) -> Convert:
    """Returns a converter for values inside lists, structs and maps: NULL is allowed, and values
    of textual types are converted completely."""
    convert = converter(column, kind)
    inner = Column(column.name, kind, column.sql, column.format) if is_textual(kind) else None

    def whole(value: Any) -> Any:
        if value is None:
            return None
        if inner is None:
            return convert(value)
        array, unfit = inner.convert_strings(pa.array([convert(value)]))
        if unfit.any():
            raise ValueMismatchError
        return array[0]

    return whole


def _strings(column: Column, kind: pa.DataType) -> Convert:  # noqa: ARG001
    def convert(value: Any) -> str:
        return _encodable(value if type(value) is str else as_json(value))

    return convert


def _binaries(column: Column, kind: pa.DataType) -> Convert:  # noqa: ARG001
    def convert(value: Any) -> bytes:
        if type(value) is not str:
            raise ValueMismatchError
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            raise ValueMismatchError from None

    return convert


def _booleans(column: Column, kind: pa.DataType) -> Convert:  # noqa: ARG001
    def convert(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueMismatchError
        return value

    return convert


def _integers(column: Column, kind: pa.DataType) -> Convert:  # noqa: ARG001
    bound = 1 << (kind.bit_width - 1)

    def convert(value: Any) -> int:
        if type(value) is not Number or not value.lstrip("-").isdecimal():
            raise ValueMismatchError
        number = int(value)
        if not -bound <= number < bound:
            raise ValueMismatchError
        return number

    return convert


def _floats(column: Column, kind: pa.DataType) -> Convert:  # noqa: ARG001
    wide = kind.bit_width > 32

    def convert(value: Any) -> float:
        if type(value) is str and value in _INFINITE:
            return float(value)
        if type(value) is not Number:
            raise ValueMismatchError
        number = float(value) if wide else pa.scalar(float(value)).cast(kind).as_py()
        if math.isinf(number):
            raise ValueMismatchError
        return number

    return convert


def _lists(column: Column, kind: pa.DataType) -> Convert:
    each = _inner(column, kind.value_type)

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueMismatchError
        return [each(item) for item in value]

    return convert


def _structs(column: Column, kind: pa.DataType) -> Convert:
    fields = [(each.name, _inner(column, each.type)) for each in kind]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueMismatchError
        return {name: convert_field(value.get(name)) for name, convert_field in fields}

    return convert


def _maps(column: Column, kind: pa.DataType) -> Convert:
    each = _inner(column, kind.item_type)

    def convert(value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise ValueMismatchError
        return [(_encodable(key), each(value[key])) for key in value]

    return convert


_CONVERTERS: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[Column, pa.DataType], Convert]], ...
] = (
    (pa.types.is_string, _strings),
    (pa.types.is_binary, _binaries),
    (pa.types.is_boolean, _booleans),
    (pa.types.is_integer, _integers),
    (pa.types.is_floating, _floats),
    (pa.types.is_list, _lists),
    (pa.types.is_struct, _structs),
    (pa.types.is_map, _maps),
)


def _encodable(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # unpaired surrogate
            raise ValueMismatchError from None
    return value


def as_json(value: Any) -> str:
    """Returns a value as JSON; numbers keep the notation of the file."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        inner = ",".join(f"{as_json(name)}:{as_json(each)}" for name, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{','.join(map(as_json, value))}]"
    return json.dumps(value, ensure_ascii=False)


def flaw_of(column: Column, value: Any) -> Flaw:
    shown = value if isinstance(value, str) and not isinstance(value, Number) else as_json(value)
    shown = shown.encode("utf-8", "backslashreplace").decode()
    if (
        isinstance(value, Number)
        and pa.types.is_timestamp(column.type)
        and not isinstance(column.format, Epoch)
    ):
        return Flaw(
            f"column {column.name}: {shown} is a number, and times are strings unless "
            "'timestamp.format' is 'epoch_millis' or 'epoch_seconds'.",
            column.name,
            shown,
        )
    return Flaw.of(column, shown)
