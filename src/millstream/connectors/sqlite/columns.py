"""Reads SQLite columns as Spark types.

SQLite stores a type with each value, not with a column, and has neither booleans nor dates:
booleans are 0 and 1, dates and times are strings in ISO 8601.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.lookup.failures import find_name
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import DatabaseColumn, Family, family
from millstream.connectors.lookup.values import (
    Reader,
    ValueMismatchError,
    Values,
    mismatch_for,
    to_array,
    value_types,
)
from millstream.connectors.sqlite.database import bounded, connect

_NUMBERS: tuple[Family, ...] = ("boolean", "whole", "float", "double", "decimal")
_TIMES: tuple[Family, ...] = ("date", "timestamp", "timestamp_ntz")
# Types by the affinity of a declared type, in the order of SQLite's rules. A column with another
# type or without a type can contain values of any type.
_READS: tuple[tuple[tuple[str, ...], tuple[Family, ...]], ...] = (
    (("INT",), _NUMBERS),
    (("CHAR", "CLOB", "TEXT"), ("string", "decimal", *_TIMES)),
    (("BLOB",), ("binary",)),
    (("REAL", "FLOA", "DOUB"), ("float", "double", "decimal")),
)
_WIDEST: dict[str, str] = {"TEXT": "STRING", "BLOB": "BINARY", "INT": "BIGINT", "DOUB": "DOUBLE"}
_ZONE = r":\d{2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)$"


def reader(declared: pa.DataType) -> Reader | None:
    readers: dict[str, Reader] = {
        "boolean": _booleans,
        "float": _floats,
        "decimal": _decimals,
        "date": _dates,
        "timestamp": _times,
        "timestamp_ntz": _local_times,
    }
    return readers.get(family(declared))


def _booleans(values: Values, declared: pa.DataType) -> pa.Array:
    if strange := value_types(values) - {int}:
        raise mismatch_for(strange.pop())
    if set(values) - {0, 1, None}:
        raise ValueMismatchError("an integer other than 0 and 1", "BIGINT")
    return pa.array(values, pa.int64()).cast(declared)


def _floats(values: Values, declared: pa.DataType) -> pa.Array:
    """SQLite's numbers have 8 bytes; only those that 4 bytes represent exactly fit FLOAT."""
    wide = to_array(values, pa.float64())
    narrow = wide.cast(declared, safe=False)
    if not narrow.cast(pa.float64()).equals(wide):
        raise ValueMismatchError("a number that FLOAT cannot represent exactly", "DOUBLE")
    return narrow


def _decimals(values: Values, declared: pa.DataType) -> pa.Array:
    """Converts integers, strings, and floating-point numbers by their shortest representation."""
    if strange := value_types(values) - {int, float, str}:
        raise mismatch_for(strange.pop())
    try:
        exact = [None if value is None else Decimal(str(value)) for value in values]
    except InvalidOperation:
        raise ValueMismatchError("a string that is not a number", "STRING") from None
    return to_array(exact, declared)


def _dates(values: Values, declared: pa.DataType) -> pa.Array:
    return _parsed(_texts(values), declared, "date")


def _local_times(values: Values, declared: pa.DataType) -> pa.Array:
    texts = _texts(values)
    if pc.any(_zoned(texts)).as_py():
        raise ValueMismatchError("a time with a time zone", "TIMESTAMP")
    return _parsed(texts, declared, "time")


def _times(values: Values, declared: pa.DataType) -> pa.Array:
    """A time without a time zone is in UTC, as in SQLite's functions."""
    texts = _texts(values)
    zoned, none = _zoned(texts), pa.scalar(None, pa.string())
    with_zone = _parsed(pc.if_else(zoned, texts, none), declared, "time")
    without = _parsed(pc.if_else(zoned, none, texts), pa.timestamp("us"), "time")
    return pc.coalesce(with_zone, without.cast(declared))


def _zoned(texts: pa.Array) -> pa.Array:
    return pc.match_substring_regex(texts, _ZONE)


def _texts(values: Values) -> pa.Array:
    if strange := value_types(values) - {str}:
        raise mismatch_for(strange.pop())
    return pa.array(values, pa.string())


def _parsed(texts: pa.Array, declared: pa.DataType, kind: str) -> pa.Array:
    try:
        return texts.cast(declared)
    except pa.ArrowInvalid:
        raise ValueMismatchError(f"a string that is not an ISO 8601 {kind}", "STRING") from None


def table_columns(spec: LookupSpec) -> dict[str, DatabaseColumn]:
    """Returns the columns of a table by name, as the database spells them."""
    connection = connect(spec)
    try:
        with bounded(connection, spec):
            named = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            tables = [str(name) for (name,) in connection.execute(named)]
            table = find_name(spec, "table", spec.name, tables)
            found = connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (table,))
            return {str(name): DatabaseColumn(kind or "any", kind) for name, kind in found}
    finally:
        connection.close()


def readable_as(column: DatabaseColumn) -> str:
    """Returns the SQL type that every value of a column's declared type fits."""
    for words, _ in _READS:
        if any(word in column.base.upper() for word in words):
            return _WIDEST[words[-1]]
    return "STRING"


def can_read(column: DatabaseColumn, declared: pa.DataType) -> bool:
    """Whether a column can be read as a declared type. SQLite does not check stored values, so
    reading a value of another type is still an error."""
    for words, families in _READS:
        if any(word in column.base.upper() for word in words):
            return family(declared) in families
    return family(declared) != "other"
