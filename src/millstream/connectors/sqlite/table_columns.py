"""Reads the columns of a SQLite table, and decides which types of Spark they can be read as."""

from __future__ import annotations

import pyarrow as pa

from millstream.connectors.jdbc.database_column import DatabaseColumn
from millstream.connectors.lookup.failures import find_name
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import Family, family
from millstream.connectors.sqlite.store import bounded, connect

_NUMBERS: tuple[Family, ...] = ("boolean", "whole", "float", "double", "decimal")
_TIMES: tuple[Family, ...] = ("date", "timestamp", "timestamp_ntz")
# By the affinity of a declared type, in the order of SQLite's rules. A column without a type, or
# with another one, can have values of any kind.
_READS: tuple[tuple[tuple[str, ...], tuple[Family, ...]], ...] = (
    (("INT",), _NUMBERS),
    (("CHAR", "CLOB", "TEXT"), ("string", "decimal", *_TIMES)),
    (("BLOB",), ("binary",)),
    (("REAL", "FLOA", "DOUB"), ("float", "double", "decimal")),
)


def table_columns(spec: LookupSpec) -> dict[str, DatabaseColumn]:
    """Returns the columns of a table with their declared types, in the database's spelling."""
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


def can_read(column: DatabaseColumn, declared: pa.DataType) -> bool:
    """Whether values of a column can be of a declared type. SQLite checks no values, so a value
    that is not is still an error when it is read."""
    for words, families in _READS:
        if any(word in column.base.upper() for word in words):
            return family(declared) in families
    return family(declared) != "other"
