"""Reads the names and types of tables and columns from PostgreSQL's catalog."""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg import sql

from millstream.connectors.lookup.failures import find_name, not_found
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.postgresql.connect import Connection

# Tables, partitioned tables, views, materialized views, foreign tables.
_TABLES = """
SELECT n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND CASE WHEN %(schema)s::text IS NULL
    THEN pg_catalog.pg_table_is_visible(c.oid)
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    ELSE lower(n.nspname) = lower(%(schema)s::text) END
ORDER BY n.nspname = %(schema)s::text
"""
# A domain has the type that it is based on.
_COLUMNS = """
SELECT a.attname, coalesce(b.typname, t.typname), pg_catalog.format_type(a.atttypid, a.atttypmod),
  coalesce(l.collisdeterministic, true)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE n.nspname = %s AND c.relname = %s
"""
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True, slots=True)
class Column:
    """A column in the database.

    Attributes:
        type: The type's name in the catalog, such as int4 or varchar.
        text: The type in SQL, such as character varying(20).
        exact: Strings are equal only if their bytes are equal (a deterministic collation).
    """

    name: str
    type: str
    text: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table in the database, with the columns that a lookup reads."""

    schema: str
    name: str
    columns: dict[str, Column]  # by their names in the job


def describe(spec: LookupSpec, connection: Connection) -> Table:
    schema, table, known = find_table(spec, connection)
    wanted = [*spec.read, *(condition.column for condition in spec.conditions)]
    columns = {each: known[find_name(spec, "column", each, known)] for each in wanted}
    return Table(schema, table, columns)


def find_table(spec: LookupSpec, connection: Connection) -> tuple[str, str, dict[str, Column]]:
    """Returns the schema, the name and all columns of a table."""
    schema, name = split_name(spec.name)
    by_name = find_tables(connection, schema)
    if name is None:
        raise not_found(spec, "table", spec.name, by_name)
    table = find_name(spec, "table", name, by_name)
    return by_name[table], table, columns_of(connection, by_name[table], table)


def find_tables(connection: Connection, schema: str | None) -> dict[str, str]:
    """Returns tables with their schemas: those of a schema, or of the search path."""
    found = connection.execute(_TABLES, {"schema": schema}).fetchall()
    # The last one wins: the schema whose name matches exactly.
    return {str(table): str(place) for place, table in found}


def columns_of(connection: Connection, schema: str, table: str) -> dict[str, Column]:
    rows = connection.execute(_COLUMNS, (schema, table)).fetchall()
    return {str(row[0]): Column(*row) for row in rows}


def quote_name(*names: str) -> sql.Identifier:
    """Quotes a name for a statement with parameters; % is doubled for psycopg."""
    return sql.Identifier(*(name.replace("%", "%%") for name in names))


def split_name(text: str) -> tuple[str | None, str | None]:
    """Splits a name in SQL, such as crm.customers or "Odd.Name", into schema and table."""
    parts = [quote_name.replace('""', '"') or plain for quote_name, plain in _PART.findall(text)]
    whole = re.fullmatch(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))?", text)
    if whole is None:
        return None, None
    return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])
