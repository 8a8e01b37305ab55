"""How a column of PostgreSQL is read as a type of Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from millstream.connectors.lookup.failures import wrong_type
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import Family, family
from millstream.connectors.lookup.values import MisfitError, Reader, Values
from millstream.connectors.postgresql.describe import Column, quoted

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
# Spark's own name for a type. What has none here (uuid, enums, json, …) is read as its text.
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


def must_fit(spec: LookupSpec, name: str, column: Column) -> None:
    """Can every value of the column's type be of the declared one, or be told by its value?"""
    if not fits(column.type, spec.schema.field(name).type):
        found = f"it is {column.text} in the database"
        raise wrong_type(spec, name, found, SPARK.get(column.type, "STRING"))


def fits(database_type: str, declared: pa.DataType) -> bool:
    """Whether a type of the database, by its name in the catalog, is read as a declared one."""
    kind = family(declared)
    return database_type in _READS[kind] if kind in _READS else database_type not in SPARK


def expression(spec: LookupSpec, name: str, column: Column) -> sql.Composable:
    """What SELECT says, so that the driver gives a value of one kind."""
    declared = family(spec.schema.field(name).type)
    if declared == "string" and column.type not in PLAIN_TEXT:
        return sql.SQL("{}::text").format(quoted(column.name))
    if declared == "double" and column.type == "numeric":
        return sql.SQL("{}::float8").format(quoted(column.name))
    return quoted(column.name)


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
            raise MisfitError(f"a {kind} outside of the years 1 to 9999")
    return pc.add(since_2000, _YEAR_2000[kind])
