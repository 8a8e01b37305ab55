"""Reads the columns of a PostgreSQL table, and decides which types of Spark they can be read as."""

from __future__ import annotations

import pyarrow as pa

from millstream.connectors.jdbc.database_column import DatabaseColumn
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.postgresql.columns import fits
from millstream.connectors.postgresql.connect import bounded, connect
from millstream.connectors.postgresql.describe import find_table


def table_columns(spec: LookupSpec) -> dict[str, DatabaseColumn]:
    """Returns the columns of a table with their types, in the database's spelling. The types of
    domains are those that they are based on."""
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
    """Whether values of a column can be of a declared type."""
    return fits(column.base, declared)
