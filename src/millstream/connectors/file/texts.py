"""Formats Arrow rows as JSON or CSV lines on executors, for late rows and dead letters.

Spark formats the main rows of a query (`csv_lines`). Values have the same format as in Spark,
except that a DOUBLE of ten million or more may have another notation (12345678.5, not
1.23456785E7).
"""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.compute as pc

from millstream.errors import PlanError
from millstream.values import CsvDialect

_ISO = "%Y-%m-%dT%H:%M:%S"
_LETTERS = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "X": "Z",
    "XXX": "Z",
}
_FRACTIONS = {"SSS": "ms", "SSSSSS": "us", "SSSSSSSSS": "ns"}
_UNITS = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}
_PARTS = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED |= {"\b": "\\b", "\f": "\\f"}
_ESCAPED |= {chr(n): f"\\u{n:04x}" for n in range(32) if chr(n) not in _ESCAPED}
_NUMBERS = (pa.types.is_integer, pa.types.is_decimal)


def json_lines(rows: pa.RecordBatch, timestamp_format: str = "") -> pa.Array:
    """Returns one JSON object per row, with all columns."""
    return _object(rows.schema.names, rows.columns, rows.num_rows, timestamp_format)


def csv_lines(rows: pa.RecordBatch, dialect: CsvDialect, timestamp_format: str = "") -> pa.Array:
    columns = [_field(column, dialect, timestamp_format) for column in rows.columns]
    return pc.binary_join_element_wise(*columns, dialect.delimiter)


def plain_text(values: pa.Array, timestamp_format: str = "") -> pa.Array:
    """Returns values as strings, NULL as NULL."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        return _timestamps(values, timestamp_format)
    if pa.types.is_floating(kind):
        return _floats(values)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([None if v is None else _base64(v) for v in values.to_pylist()], _TEXT)
    return values.cast(_TEXT)


def json_text(values: pa.Array) -> pa.Array:
    """Returns values as JSON, NULL as NULL."""
    return pc.if_else(values.is_valid(), _json(values, ""), None)


_TEXT = pa.string()


def strftime_format(pattern: str) -> tuple[str, str]:
    """Converts a datetime pattern of Spark to a format of strftime and an Arrow time unit, which
    determines the digits of seconds. Raises PlanError if the pattern is not supported."""
    found, unit, end = "", "s", 0
    for part in _PARTS.finditer(pattern):
        quoted, letters, _, other = part.groups()
        if part.start() != end:
            break
        end = part.end()
        if letters and letters in _FRACTIONS and found.endswith("%S."):
            found, unit = found[:-1], _FRACTIONS[letters]
        elif letters and letters in _LETTERS:
            found += _LETTERS[letters]
        elif letters:
            break
        else:
            found += (other or quoted.replace("''", "'") or "'").replace("%", "%%")
    else:
        return found, unit
    raise PlanError(
        "MS-PLAN-TIMESTAMP-FORMAT",
        f"'timestamp.format' = '{pattern}' is not supported by sinks of late rows or dead letters.",
        fix="Use yyyy, MM, dd, HH, mm, ss, SSS, SSSSSS, XXX and quoted text, or remove "
        "'timestamp.format'.",
    )


def _timestamps(values: pa.Array, pattern: str) -> pa.Array:
    zone = "UTC" if values.type.tz is not None else None
    given, unit = strftime_format(pattern) if pattern else (_ISO + ("Z" if zone else ""), "us")
    floored = pc.floor_temporal(values, unit=_UNITS[unit])
    return pc.strftime(floored.cast(pa.timestamp(unit, zone)), given)


def _floats(values: pa.Array) -> pa.Array:
    text = values.cast(_TEXT)
    # 1 -> 1.0, 1e+20 -> 1.0E20
    text = pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    text = pc.replace_substring_regex(text, r"^(-?\d+)e", r"\1.0e")
    text = pc.replace_substring_regex(text, r"e\+?(-?)0*(\d+)$", r"E\1\2")
    text = pc.replace_substring_regex(text, r"^nan$", "NaN")
    return pc.replace_substring_regex(text, r"^(-?)inf$", r"\1Infinity")


def _base64(value: bytes) -> str:
    from base64 import b64encode

    return b64encode(value).decode()


def _object(names: list[str], columns: list[pa.Array], count: int, pattern: str) -> pa.Array:
    if not names:
        return pa.repeat(pa.scalar("{}"), count)
    parts: list[object] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        start = "{" if number == 0 else ","
        parts += [f"{start}{json.dumps(name, ensure_ascii=False)}:", _json(column, pattern)]
    return pc.binary_join_element_wise(*parts, "}", "")


def _json(values: pa.Array, pattern: str) -> pa.Array:
    """Returns the JSON of each value, `null` for NULL."""
    kind = values.type
    if pa.types.is_boolean(kind) or any(check(kind) for check in _NUMBERS):
        text = values.cast(_TEXT)
    elif pa.types.is_floating(kind):
        text = _floats(values)
        text = pc.replace_substring_regex(text, r"^(NaN|-?Infinity)$", r'"\1"')
    elif pa.types.is_struct(kind):
        fields = [values.field(number) for number in range(kind.num_fields)]
        names = [kind.field(number).name for number in range(kind.num_fields)]
        text = _object(names, fields, len(values), pattern)
        text = pc.if_else(values.is_valid(), text, None)
    elif pa.types.is_map(kind):
        keys = _quoted(plain_text(values.keys, pattern))
        entries = pc.binary_join_element_wise(keys, _json(values.items, pattern), ":")
        text = _enclosed(values, entries, "{", "}")
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        text = _enclosed(values, _json(values.values, pattern), "[", "]")
    elif pa.types.is_null(kind):
        text = pa.nulls(len(values), _TEXT)
    else:
        text = _quoted(plain_text(values, pattern))
    return pc.fill_null(text, "null")


def _enclosed(values: pa.Array, texts: pa.Array, start: str, end: str) -> pa.Array:
    """Joins the texts of a list's values. The offsets of a slice refer to all values."""
    offsets = values.offsets.cast(pa.int32())
    lists = pa.ListArray.from_arrays(offsets, texts)
    joined = pc.binary_join(lists, ",")
    text = pc.binary_join_element_wise(start, joined, end, "")
    return pc.if_else(values.is_valid(), text, None)


def _quoted(text: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(text, r'[\x00-\x1f"\\]')).as_py():
        for character, escaped in _ESCAPED.items():
            text = pc.replace_substring(text, character, escaped)
    return pc.binary_join_element_wise('"', text, '"', "")


def _field(values: pa.Array, dialect: CsvDialect, pattern: str) -> pa.Array:
    text = plain_text(values, pattern)
    special = "".join(map(re.escape, sorted({dialect.delimiter, dialect.quote, dialect.escape})))
    needs = pc.match_substring_regex(text, rf"^$|^[ \t]|[ \t]$|[{special}\r\n]")
    if dialect.null:
        needs = pc.or_(needs, pc.equal(text, dialect.null))
    if pc.any(needs).as_py():
        inner = text
        if dialect.escape != dialect.quote:
            inner = pc.replace_substring(inner, dialect.escape, dialect.escape * 2)
        inner = pc.replace_substring(inner, dialect.quote, dialect.escape + dialect.quote)
        quoted = pc.binary_join_element_wise(dialect.quote, inner, dialect.quote, "")
        text = pc.if_else(needs, quoted, text)
    return pc.fill_null(text, dialect.null)
