"""Finds the table of a sink, or creates it, and checks that it can store the rows of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from millstream.connectors.lookup.types import DatabaseColumn
from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.describe import Column, columns_of, find_tables, split_name
from millstream.connectors.postgresql.sink_types import SinkColumn
from millstream.connectors.postgresql.target import Target
from millstream.errors import RunError
from millstream.suggestions import nearest, same

# Columns of unique indexes without a condition, as PostgreSQL infers them for ON CONFLICT.
_UNIQUE = """
SELECT array_agg(a.attname::text)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
WHERE i.indrelid = %s::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
  AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
GROUP BY i.indexrelid
"""
# Columns without a value would violate NOT NULL; values of generated columns are rejected.
_COLUMN_RULES = """
SELECT attname, attnotnull AND NOT atthasdef AND attidentity = '', attgenerated <> ''
FROM pg_catalog.pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""


@dataclass(frozen=True, slots=True)
class SinkTable:
    """A table that a sink writes.

    Attributes:
        names: The columns in the rows of the query.
        columns: The same columns as the database spells them.
        key: The columns, as the database spells them, that identify a row; none: rows are
            appended, or withdrawn by all their values.
        is_changelog: Whether rows have a column `_OP`.
    """

    schema: str
    table: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    is_changelog: bool = False

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.table)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The key columns in the rows of the query."""
        spelled = dict(zip(self.columns, self.names, strict=True))
        return tuple(spelled[name] for name in self.key)


def prepare_table(
    target: Target,
    connection: Connection,
    columns: Sequence[SinkColumn],
    key: Sequence[str],
    *,
    create: bool,
    is_changelog: bool,
) -> SinkTable:
    """Finds or creates the table; raises RunError if it cannot store the rows."""
    schema, name = split_name(target.table)
    if name is None:
        raise target.table_error(f"'table' = '{target.table}' is not a name", "Correct 'table'.")
    known = find_tables(connection, schema)
    found = name if name in known else next((each for each in known if same(each, name)), None)
    if found is None:
        if not create:
            raise target.table_error(
                f"the database has no table {target.table}",
                nearest(name, known) or "Create the table, or remove 'create.table'.",
            )
        return _create(target, connection, schema, name, columns, key, is_changelog)
    return _check(target, connection, (known[found], found), columns, key, is_changelog)


def _create(
    target: Target,
    connection: Connection,
    schema: str | None,
    name: str,
    columns: Sequence[SinkColumn],
    key: Sequence[str],
    is_changelog: bool,
) -> SinkTable:
    if schema is None:
        row = connection.execute("SELECT current_schema()").fetchone()
        schema = row[0] if row else None
    if schema is None:
        raise target.table_error("the search path of the user has no schema", "Name it in 'table'.")
    names = tuple(column.name for column in columns)
    own_key = tuple(next(each for each in names if same(each, part)) for part in key)
    parts: list[sql.Composable] = [
        sql.SQL("{} {}").format(sql.Identifier(each.name), sql.SQL(each.database_type or ""))
        for each in columns
    ]
    if own_key:
        parts.append(sql.SQL("PRIMARY KEY ({})").format(identifiers(own_key)))
    made = SinkTable(schema, name, names, names, own_key, is_changelog)
    connection.execute(
        sql.SQL("CREATE TABLE {} ({})").format(made.identifier, sql.SQL(", ").join(parts))
    )
    return made


def _check(
    target: Target,
    connection: Connection,
    place: tuple[str, str],
    columns: Sequence[SinkColumn],
    key: Sequence[str],
    is_changelog: bool,
) -> SinkTable:
    schema, table = place
    known = columns_of(connection, schema, table)
    spelled = {each.name: _spelling(target, each.name, known) for each in columns}
    for each in columns:
        if not each.fits(known[spelled[each.name]]):
            raise _wrong_type(target, each, known[spelled[each.name]])
    made = SinkTable(
        schema,
        table,
        tuple(spelled),
        tuple(spelled.values()),
        tuple(_spelling(target, name, known) for name in key),
        is_changelog,
    )
    qualified = made.identifier.as_string(connection)
    for name, required, generated in connection.execute(_COLUMN_RULES, [qualified]).fetchall():
        if name in made.columns and generated:
            raise target.table_error(
                f"column {name} of {target.table} is generated by the database",
                "Exclude it from the query.",
            )
        if name not in made.columns and required:
            raise target.table_error(
                f"column {name} of {target.table} is NOT NULL without a default, and the query "
                "does not select it",
                f"Select it, or give it a default: ALTER TABLE … ALTER COLUMN {name} SET DEFAULT …",
            )
    if made.key:
        _check_unique(target, connection, made, qualified)
    return made


def _check_unique(target: Target, connection: Connection, table: SinkTable, qualified: str) -> None:
    rows: list[tuple[Any, ...]] = connection.execute(_UNIQUE, [qualified]).fetchall()
    if any(set(row[0]) == set(table.key) for row in rows):
        return
    listed = ", ".join(table.key)
    raise target.table_error(
        f"{target.table} has no primary key or unique index of ({listed}), so a row cannot replace "
        "another",
        f"Create one: ALTER TABLE … ADD PRIMARY KEY ({listed}). Or correct 'key.columns'.",
    )


def _spelling(target: Target, name: str, known: dict[str, Column]) -> str:
    if name in known:
        return name
    alike = [each for each in known if same(each, name)]
    if len(alike) != 1:
        raise target.table_error(
            f"the table {target.table} has no column {name}",
            nearest(name, known) or f"Add it with ALTER TABLE, or exclude {name} from the query.",
        )
    return alike[0]


def _wrong_type(target: Target, column: SinkColumn, found: Column) -> RunError:
    shown = DatabaseColumn(found.text, found.type).type
    return target.table_error(
        f"column {found.name} of {target.table} is {shown}, which cannot store every value of the "
        f"query's column, a {column.kind.simpleString().upper()}",
        f"CAST it in the query, or change the table to {column.database_type}.",
    )


def identifiers(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
