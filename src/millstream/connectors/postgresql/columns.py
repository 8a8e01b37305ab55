"""Reads PostgreSQL columns as Spark types."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from millstream.connectors.lookup.failures import wrong_type
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import DatabaseColumn, Family, family
from millstream.connectors.lookup.values import Reader, ValueMismatchError, Values
from millstream.connectors.postgresql.connect import bounded, connect
from millstream.connectors.postgresql.describe import Column, find_table, quote_name

_INTEGERS = ("int2", "int4", "int8", "oid")
_READS: dict[Family, tuple[str, ...]] = {
    "boolean": ("bool",),
    "whole": (*_INTEGERS, "numeric"),
    "float": ("float4",),
    "double": ("float4", "float8", "numeric", *_INTEGERS),
    "decimal": ("numeric", *_INTEGERS),
    "binary": ("bytea",),
    "date": ("date",),
    "timestamp": ("timestamptz",),
    "timestamp_ntz": ("timestamp",),
}
# Spark's names of types. Other types (uuid, enums, json, …) are read as strings.
SPARK = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "oid": "BIGINT",
    "numeric": "DECIMAL",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bytea": "BINARY",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
}
PLAIN_TEXT = ("text", "varchar")
_YEAR_1 = {"date": -719_162, "timestamp": -62_135_596_800_000_000}  # days, microseconds of 1970
_YEAR_10000 = {"date": 2_932_897, "timestamp": 253_402_300_800_000_000}
_YEAR_2000 = {"date": 10_957, "timestamp": 946_684_800_000_000}


def check_type(spec: LookupSpec, name: str, column: Column) -> None:
    """Rejects a column whose type cannot be read as the declared type."""
    if not is_readable(column.type, spec.schema.field(name).type):
        found = f"it is {column.text} in the database"
        raise wrong_type(spec, name, found, SPARK.get(column.type, "STRING"))


def is_readable(database_type: str, declared: pa.DataType) -> bool:
    """Whether a type, by its name in the catalog, can be read as the declared type."""
    kind = family(declared)
    return database_type in _READS[kind] if kind in _READS else database_type not in SPARK


def expression(spec: LookupSpec, name: str, column: Column) -> sql.Composable:
    """Returns the SELECT expression of a column, so that all its values have one Python type."""
    declared = family(spec.schema.field(name).type)
    if declared == "string" and column.type not in PLAIN_TEXT:
        return sql.SQL("{}::text").format(quote_name(column.name))
    if declared == "double" and column.type == "numeric":
        return sql.SQL("{}::float8").format(quote_name(column.name))
    return quote_name(column.name)


def reader(declared: pa.DataType) -> Reader | None:
    return {"date": _dates, "timestamp": _times, "timestamp_ntz": _times}.get(family(declared))


def _dates(values: Values, declared: pa.DataType) -> pa.Array:
    return _since_1970(values, "date").cast(pa.int32()).cast(declared)


def _times(values: Values, declared: pa.DataType) -> pa.Array:
    return _since_1970(values, "timestamp").cast(declared)


def _since_1970(values: Values, kind: str) -> pa.Array:
    since_2000 = pa.array(values, pa.int64())
    if len(since_2000) > since_2000.null_count:
        ends = pc.min_max(since_2000).as_py()
        least, most = (_YEAR_1[kind] - _YEAR_2000[kind], _YEAR_10000[kind] - _YEAR_2000[kind])
        if ends["min"] < least or ends["max"] >= most:
            raise ValueMismatchError(f"a {kind} outside the years 1 to 9999")
    return pc.add(since_2000, _YEAR_2000[kind])


def table_columns(spec: LookupSpec) -> dict[str, DatabaseColumn]:
    """Returns the columns of a table by name, as the database spells them. A domain has the type
    that it is based on."""
    connection = connect(spec)
    try:
        with bounded(connection, spec):
            _, _, columns = find_table(spec, connection)
            return {
                name: DatabaseColumn(column.text, column.type) for name, column in columns.items()
            }
    finally:
        connection.close()


def can_read(column: DatabaseColumn, declared: pa.DataType) -> bool:
    """Whether a column can be read as a declared type."""
    return is_readable(column.base, declared)
