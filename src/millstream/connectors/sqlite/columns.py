"""How values of SQLite are read. It keeps a kind with each value, not with a column, and has
neither booleans nor dates: those are 0 and 1, and texts as ISO 8601 writes them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.lookup.types import family
from millstream.connectors.lookup.values import (
    MisfitError,
    Reader,
    Values,
    array_of,
    kinds_of,
    misfit_of,
)

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
    if strange := kinds_of(values) - {int}:
        raise misfit_of(strange.pop())
    if set(values) - {0, 1, None}:
        raise MisfitError("a whole number other than 0 and 1", "BIGINT")
    return pa.array(values, pa.int64()).cast(declared)


def _floats(values: Values, declared: pa.DataType) -> pa.Array:
    """SQLite's numbers have 8 bytes; such as 4 bytes hold exactly are a FLOAT."""
    wide = array_of(values, pa.float64())
    narrow = wide.cast(declared, safe=False)
    if not narrow.cast(pa.float64()).equals(wide):
        raise MisfitError("a number that FLOAT cannot hold", "DOUBLE")
    return narrow


def _decimals(values: Values, declared: pa.DataType) -> pa.Array:
    """Whole numbers, texts, and floating-point numbers by the shortest text that means them."""
    if strange := kinds_of(values) - {int, float, str}:
        raise misfit_of(strange.pop())
    try:
        exact = [None if value is None else Decimal(str(value)) for value in values]
    except InvalidOperation:
        raise MisfitError("a text that is no number", "STRING") from None
    return array_of(exact, declared)


def _dates(values: Values, declared: pa.DataType) -> pa.Array:
    return _parsed(_texts(values), declared, "date")


def _local_times(values: Values, declared: pa.DataType) -> pa.Array:
    texts = _texts(values)
    if pc.any(_zoned(texts)).as_py():
        raise MisfitError("a time with a time zone", "TIMESTAMP")
    return _parsed(texts, declared, "time")


def _times(values: Values, declared: pa.DataType) -> pa.Array:
    """A time without a zone is in UTC, as SQLite's own functions have it."""
    texts = _texts(values)
    zoned, none = _zoned(texts), pa.scalar(None, pa.string())
    with_zone = _parsed(pc.if_else(zoned, texts, none), declared, "time")
    without = _parsed(pc.if_else(zoned, none, texts), pa.timestamp("us"), "time")
    return pc.coalesce(with_zone, without.cast(declared))


def _zoned(texts: pa.Array) -> pa.Array:
    return pc.match_substring_regex(texts, _ZONE)


def _texts(values: Values) -> pa.Array:
    if strange := kinds_of(values) - {str}:
        raise misfit_of(strange.pop())
    return pa.array(values, pa.string())


def _parsed(texts: pa.Array, declared: pa.DataType, kind: str) -> pa.Array:
    try:
        return texts.cast(declared)
    except pa.ArrowInvalid:
        raise MisfitError(f"a text that is no {kind} of ISO 8601", "STRING") from None
