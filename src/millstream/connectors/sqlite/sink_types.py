"""Maps the types of a query to SQLite, which converts values by the affinity of their column."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from millstream.connectors.nested_columns import is_nested

_WHOLE = (BooleanType, IntegralType)
_FLOATS = (FloatType, DoubleType)
# SQLite has no types for these; `connectors/sqlite/columns.py` reads the same texts.
_TEXTS = (StringType, DecimalType, DateType, TimestampType, TimestampNTZType)


def database_type(kind: DataType) -> str | None:
    """Returns the type of a created column; None if SQLite cannot store the values."""
    if isinstance(kind, _WHOLE):
        return "INTEGER"
    if isinstance(kind, _FLOATS):
        return "REAL"
    if isinstance(kind, _TEXTS) or is_nested(kind):
        return "TEXT"
    return "BLOB" if isinstance(kind, BinaryType) else None


def fits(kind: DataType, declared: str) -> bool:
    """Whether a column with a declared type stores values as they are."""
    wanted, affinity = database_type(kind), _affinity(declared)
    if affinity == "BLOB" or wanted == "BLOB":  # values are never converted
        return True
    if wanted == "TEXT":
        return affinity == "TEXT"
    return affinity in (wanted, "NUMERIC")


def _affinity(declared: str) -> str:
    """The rules of SQLite, in their order."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(each in name for each in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if "BLOB" in name or not name:
        return "BLOB"
    return "REAL" if any(each in name for each in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


def to_rows(table: pa.Table) -> Iterator[tuple[object, ...]]:
    """Yields rows with values as SQLite stores them."""
    for batch in table.to_batches():
        yield from zip(*(_stored(each).to_pylist() for each in batch.columns), strict=True)


def _stored(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind):
        zone = "Z" if kind.tz else ""
        return pc.strftime(column.cast(pa.timestamp("us")), f"%Y-%m-%dT%H:%M:%S{zone}")
    return column


def nan_column(table: pa.Table) -> str | None:
    """Returns a column with NaN, which SQLite would store as NULL."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            return str(name)
    return None
