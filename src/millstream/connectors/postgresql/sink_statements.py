"""The statements that move the rows of a batch into the table of a sink.

A batch arrives in a table with the columns of the sink's table and three more: the part that a
task has copied, the position of the row, and its `_OP`.
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from millstream.connectors.postgresql.csv_rows import COPY_OPTIONS
from millstream.connectors.postgresql.sink_table import SinkTable, identifiers

PART, POSITION, OPERATION = "_ms_part", "_ms_position", "_ms_op"
# The part of the rows that a session copies; a default instead of a value in each line.
PART_SETTING = "millstream.part"
_REMOVED = sql.SQL("('-U', '-D')")


def create_batch_table(table: SinkTable, name: sql.Identifier, kind: str) -> sql.Composed:
    """Creates a table for the rows of a batch, unless it exists. `kind` is TEMP or UNLOGGED."""
    end = sql.SQL("ON COMMIT DELETE ROWS " if kind == "TEMP" else "")
    return sql.SQL(
        "CREATE {kind} TABLE IF NOT EXISTS {name} {end}AS SELECT {columns}, NULL::bigint AS {part},"
        " NULL::bigint AS {position}, NULL::text AS {op} FROM {table} WITH NO DATA"
    ).format(
        kind=sql.SQL(kind),
        name=name,
        end=end,
        columns=identifiers(table.columns),
        part=sql.Identifier(PART),
        position=sql.Identifier(POSITION),
        op=sql.Identifier(OPERATION),
        table=table.identifier,
    )


def set_part_default(name: sql.Identifier) -> sql.Composed:
    return sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET DEFAULT current_setting({})::bigint").format(
        name, sql.Identifier(PART), sql.Literal(PART_SETTING)
    )


def set_part(part: int) -> sql.Composed:
    return sql.SQL("SELECT set_config({}, {}, true)").format(
        sql.Literal(PART_SETTING), sql.Literal(str(part))
    )


def has_positions(table: SinkTable) -> bool:
    """Whether the lines of CSV end with the position and `_OP` of a row."""
    return bool(table.key) or table.is_changelog


def copy_rows(table: SinkTable, name: sql.Identifier) -> sql.Composed:
    """Copies lines of CSV into a table of a batch, or into the table of the sink."""
    more = (POSITION, OPERATION) if has_positions(table) else ()
    return sql.SQL("COPY {} ({}) FROM STDIN {}").format(
        name, identifiers((*table.columns, *more)), sql.SQL(COPY_OPTIONS)
    )


def count_rows(source: sql.Identifier, parts: Sequence[int]) -> sql.Composed:
    return sql.SQL("SELECT count(*) FROM {} WHERE {}").format(source, _is_in(parts))


def write_rows(table: SinkTable, source: sql.Identifier, parts: Sequence[int]) -> sql.Composed:
    """Writes the rows of these parts to the table of the sink."""
    if table.key:
        return _upsert(table, source, parts)
    if table.is_changelog:
        return _apply_net_changes(table, source, parts)
    return sql.SQL("INSERT INTO {0} ({1}) SELECT {1} FROM {2} WHERE {3}").format(
        table.identifier, identifiers(table.columns), source, _is_in(parts)
    )


def _upsert(table: SinkTable, source: sql.Identifier, parts: Sequence[int]) -> sql.Composed:
    """Applies the last change of each key."""
    others = [name for name in table.columns if name not in table.key]
    updates = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others]
    equal = [sql.SQL("t.{0} = last.{0}").format(sql.Identifier(name)) for name in table.key]
    deleted: sql.Composable = sql.SQL("")
    if table.is_changelog:
        deleted = sql.SQL(
            ", deleted AS (DELETE FROM {} t USING last WHERE {} AND last.{} IN {})"
        ).format(table.identifier, sql.SQL(" AND ").join(equal), _operation(), _REMOVED)
    return sql.SQL(
        "WITH last AS MATERIALIZED (SELECT DISTINCT ON ({key}) {columns}, {op} FROM {source}"
        " WHERE {parts} ORDER BY {key}, {position} DESC){deleted}"
        " INSERT INTO {table} ({columns}) SELECT {columns} FROM last"
        " WHERE {op} IS NULL OR {op} NOT IN {removed} ON CONFLICT ({key}) DO {action}"
    ).format(
        key=identifiers(table.key),
        columns=identifiers(table.columns),
        op=_operation(),
        source=source,
        parts=_is_in(parts),
        position=sql.Identifier(POSITION),
        deleted=deleted,
        table=table.identifier,
        removed=_REMOVED,
        action=sql.SQL("UPDATE SET {}").format(sql.SQL(", ").join(updates))
        if updates
        else sql.SQL("NOTHING"),
    )


def _apply_net_changes(
    table: SinkTable, source: sql.Identifier, parts: Sequence[int]
) -> sql.Composed:
    """Inserts and deletes as many copies of each row as the changelog adds or withdraws.

    Rows are compared by their text: it is the same for equal rows, and also with NULL and JSON.
    """
    row = sql.SQL("ROW({})::text").format(identifiers(table.columns))
    return sql.SQL(
        "WITH net AS MATERIALIZED (SELECT {row} AS id, min(ctid) AS place,"
        " sum(CASE WHEN {op} IN {removed} THEN -1 ELSE 1 END) AS n FROM {source}"
        " WHERE {parts} GROUP BY 1 HAVING sum(CASE WHEN {op} IN {removed} THEN -1 ELSE 1 END) <> 0"
        "), found AS (SELECT ctid, {row} AS id, row_number() OVER (PARTITION BY {row}) AS copy"
        " FROM {table} WHERE {row} IN (SELECT id FROM net WHERE n < 0)"
        "), deleted AS (DELETE FROM {table} t USING found JOIN net USING (id)"
        " WHERE t.ctid = found.ctid AND found.copy <= -net.n)"
        " INSERT INTO {table} ({columns}) SELECT {sourced} FROM net"
        " JOIN {source} s ON s.ctid = net.place, generate_series(1, net.n) WHERE net.n > 0"
    ).format(
        row=row,
        op=_operation(),
        removed=_REMOVED,
        source=source,
        parts=_is_in(parts),
        table=table.identifier,
        columns=identifiers(table.columns),
        sourced=sql.SQL(", ").join(sql.Identifier("s", name) for name in table.columns),
    )


def _operation() -> sql.Identifier:
    return sql.Identifier(OPERATION)


def _is_in(parts: Sequence[int]) -> sql.Composed:
    return sql.SQL("{} = ANY({}::bigint[])").format(sql.Identifier(PART), sql.Literal(list(parts)))
