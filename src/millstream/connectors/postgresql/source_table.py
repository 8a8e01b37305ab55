"""Finds the table of a source and checks that it can be read as the source declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from psycopg import sql

from millstream.connectors.lookup.types import family, spark_name
from millstream.connectors.postgresql.columns import SPARK, is_readable
from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.describe import Column, columns_of, find_tables, split_name
from millstream.connectors.postgresql.target import Target
from millstream.errors import RunError
from millstream.suggestions import nearest, same

_FACTS = """
SELECT c.oid::bigint, c.relkind::text, c.relreplident::text,
  pg_catalog.has_table_privilege(c.oid, 'SELECT'),
  coalesce((SELECT pg_catalog.array_agg(a.attname::text ORDER BY a.attnum)
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a
    ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
    WHERE i.indrelid = c.oid AND i.indisprimary), '{}')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s
"""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The table of a source. Executors get it.

    Attributes:
        columns: The columns in the database, by the declared names.
        types: The declared types, by the declared names.
        key: The primary key, as the database spells it.
        kind: r: a table; others, such as views, have no row identifiers.
        has_full_identity: Whether changes have all columns of the old row.
    """

    oid: int
    schema: str
    name: str
    columns: Mapping[str, Column]
    types: Mapping[str, pa.DataType]
    key: tuple[str, ...]
    kind: str
    has_full_identity: bool

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)

    @property
    def text(self) -> str:
        return self.identifier.as_string(None)


def describe_table(
    target: Target, connection: Connection, types: Mapping[str, pa.DataType]
) -> SourceTable:
    """Returns the table of a source; raises MS-RUN-POSTGRESQL-TABLE if it cannot be read."""
    schema, name = split_name(target.table)
    known = find_tables(connection, schema)
    table = next((each for each in known if name is not None and same(each, name)), None)
    if table is None:
        raise target.table_error(
            f"there is no table {target.table} in the database", nearest(name or "", known)
        )
    columns = columns_of(connection, known[table], table)
    row = connection.execute(_FACTS, (known[table], table)).fetchone()
    assert row is not None
    oid, kind, identity, is_permitted, key = row
    if not is_permitted:
        raise target.table_error(
            f"permission denied for table {target.table}", f"GRANT SELECT ON {target.table} TO …"
        )
    found = {each: _find(target, each, types[each], columns) for each in types}
    return SourceTable(
        int(oid), known[table], table, found, dict(types), tuple(key), str(kind), identity == "f"
    )


def _find(
    target: Target, name: str, declared: pa.DataType, columns: Mapping[str, Column]
) -> Column:
    exact = columns.get(name)
    column = exact or next((columns[each] for each in columns if same(each, name)), None)
    if column is None:
        raise target.table_error(
            f"the table {target.table} has no column {name}", nearest(name, list(columns))
        )
    if not is_readable_text(column.type, declared):
        raise wrong_type(target, name, declared, column.type, column.text)
    return column


def is_readable_text(database_type: str, declared: pa.DataType) -> bool:
    """Whether values of a type, which a source gets as text, can be read as the declared type."""
    kind = family(declared)
    return kind == "string" or (kind != "other" and is_readable(database_type, declared))


def wrong_type(
    target: Target, name: str, declared: pa.DataType, database_type: str, text: str
) -> RunError:
    return target.table_error(
        f"column {name} is {text} in the database, which cannot be read as {spark_name(declared)}",
        f"Declare {name} {SPARK.get(database_type, 'STRING')}.",
    )
