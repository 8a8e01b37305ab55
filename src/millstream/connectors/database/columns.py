"""Maps Spark types to types of SQLAlchemy, and values of drivers to Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from millstream.connectors.lookup.types import Family, family

_KEY_LENGTH = 255  # of a text that is part of a primary key
# The Python types of columns that can store the values of a family.
_STORED: dict[Family, tuple[type, ...]] = {
    "boolean": (bool, int),
    "whole": (int, Decimal),
    "float": (float,),
    "double": (float,),
    "decimal": (Decimal,),
    "string": (str, UUID),
    "binary": (bytes,),
    "date": (date,),
    "timestamp": (datetime,),
    "timestamp_ntz": (datetime,),
}


def database_type(kind: pa.DataType, *, is_key: bool) -> sa.types.TypeEngine[Any] | None:
    """Returns the type of a created column; None if tables cannot store the values."""
    if pa.types.is_decimal(kind):
        return sa.Numeric(kind.precision, kind.scale)
    micros = mysql.DATETIME(fsp=6)
    made: dict[Family, Callable[[], sa.types.TypeEngine[Any]]] = {
        "boolean": sa.Boolean,
        "whole": _WHOLE.get(_width(kind), sa.BigInteger),
        "float": sa.REAL,
        "double": sa.Double,
        "string": lambda: sa.String(_KEY_LENGTH) if is_key else sa.Text(),
        "binary": sa.LargeBinary,
        "date": sa.Date,
        "timestamp": lambda: sa.DateTime(timezone=True).with_variant(micros, "mysql", "mariadb"),
        "timestamp_ntz": lambda: sa.DateTime().with_variant(micros, "mysql", "mariadb"),
    }
    found = made.get(family(kind))
    return found() if found else None


def _width(kind: pa.DataType) -> int:
    return kind.bit_width if pa.types.is_integer(kind) else 0


_WHOLE: dict[int, type[sa.types.TypeEngine[Any]]] = {
    8: sa.SmallInteger,
    16: sa.SmallInteger,
    32: sa.Integer,
    64: sa.BigInteger,
}


def fits(kind: pa.DataType, column: sa.types.TypeEngine[Any]) -> bool:
    """Whether a column may store the values; types that SQLAlchemy does not know are accepted."""
    try:
        stored = column.python_type
    except NotImplementedError:
        return True
    return stored in _STORED[family(kind)]


def stores_zone(column: sa.types.TypeEngine[Any]) -> bool:
    return bool(getattr(column, "timezone", False))


def to_values(column: pa.ChunkedArray, stored: sa.types.TypeEngine[Any]) -> list[Any]:
    """Returns values as a driver takes them; times without a zone are in UTC."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_timestamp(column.type) and column.type.tz and not stores_zone(stored):
        return [each and each.astimezone(UTC).replace(tzinfo=None) for each in values]
    return values


def to_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Returns values of a driver in a declared type; raises ArrowInvalid or TypeError if one does
    not fit."""
    convert = _CONVERTERS.get(family(kind))
    if convert is not None:
        values = [None if each is None else convert(each) for each in values]
    return pa.array(values, kind)


def to_logged(value: Any) -> int | str | None:
    """Returns a value for the offset log."""
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return int(value) if isinstance(value, Decimal) else value


def from_logged(value: int | str, kind: Family, stored: sa.types.TypeEngine[Any]) -> Any:
    """Returns a value of the offset log as a driver takes it."""
    if kind == "date":
        return date.fromisoformat(str(value))
    if kind not in ("timestamp", "timestamp_ntz"):
        return value
    time = datetime.fromisoformat(str(value))
    if stores_zone(stored):
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _utc(value: Any) -> datetime:
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _local(value: Any) -> datetime:
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    if time.tzinfo:
        raise TypeError("a time with a time zone")
    return time


_CONVERTERS: dict[Family, Callable[[Any], Any]] = {
    "boolean": bool,
    "whole": lambda value: int(value) if value == int(value) else value,
    "float": float,
    "double": float,
    "decimal": lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    "string": str,
    "timestamp": _utc,
    "timestamp_ntz": _local,
    "date": lambda value: date.fromisoformat(value) if isinstance(value, str) else value,
}
