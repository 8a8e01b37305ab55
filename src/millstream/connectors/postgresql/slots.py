"""Prepares logical replication: the server's settings, a publication and a replication slot."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from psycopg import sql

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.source_table import SourceTable
from millstream.connectors.postgresql.target import Session, Target
from millstream.errors import RunError

_MAY_REPLICATE = """
SELECT bool_or(rolsuper OR rolreplication) OR coalesce(bool_or(
  (SELECT pg_has_role(current_user, oid, 'member') FROM pg_roles WHERE rolname = 'rds_replication')
), false) FROM pg_roles WHERE rolname = current_user
"""
_PUBLICATION = """
SELECT p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
  t.tablename IS NOT NULL, t.rowfilter, t.attnames::text[]
FROM pg_publication p
LEFT JOIN pg_publication_tables t
  ON t.pubname = p.pubname AND t.schemaname = %s AND t.tablename = %s
WHERE p.pubname = %s
"""
_HAS_SLOT = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
_CREATE_SLOT = "CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT"


@dataclass(frozen=True, slots=True)
class Slot:
    """A new slot: changes from `lsn` on follow the rows that are visible in `snapshot`."""

    name: str
    lsn: int
    snapshot: str


def lsn_of(text: str) -> int:
    """Parses a position in the write-ahead log, such as 0/16B3748."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def slot_name(source: str, checkpoint: str) -> str:
    """Returns the name of the slot of a source. A checkpoint has one slot for each source."""
    plain = re.sub(r"[^a-z0-9_]", "_", source.lower())[:30]
    return f"millstream_{plain}_{checkpoint[:16] or secrets.token_hex(8)}"


def check_replication(
    target: Target, connection: Connection, table: SourceTable, publication: str
) -> None:
    """Checks everything that change data capture needs; creates a publication that is missing."""

    def rejected(cause: str, fix: str) -> RunError:
        return RunError("MS-RUN-POSTGRESQL-CDC", f"{target.owner}: {cause}.", fix=fix)

    level = _value(connection, "SHOW wal_level")
    if level != "logical":
        raise rejected(
            "change data capture needs wal_level = logical, and the server at "
            f"{target.address} has {level}",
            "ALTER SYSTEM SET wal_level = 'logical', and restart the server.",
        )
    if not _value(connection, _MAY_REPLICATE):
        user = _value(connection, "SELECT current_user")
        raise rejected(
            f"the role {user} is not permitted to use replication slots",
            f"ALTER ROLE {user} REPLICATION; on Amazon RDS: GRANT rds_replication TO {user}.",
        )
    if table.kind != "r":
        raise rejected(
            f"{table.text} is not an ordinary table, and only those have changes",
            "Read its partitions or the tables of the view, each as a source.",
        )
    if not table.key:
        raise rejected(
            f"the table {table.text} has no primary key, which identifies a changed row",
            f"ALTER TABLE {table.text} ADD PRIMARY KEY (…).",
        )
    if not table.has_full_identity:
        raise missing_old_rows(target, table)
    if fix := _publication_fix(connection, table, publication):
        raise rejected(
            f"the publication {publication} does not publish all changes of {table.text}", fix
        )


def missing_old_rows(target: Target, table: SourceTable) -> RunError:
    return RunError(
        "MS-RUN-POSTGRESQL-CDC",
        f"{target.owner}: the table {table.text} does not have REPLICA IDENTITY FULL, so the "
        "server does not log the old values of updated and deleted rows.",
        fix=f"ALTER TABLE {table.text} REPLICA IDENTITY FULL. Changes from before it cannot be "
        "read: start with a new checkpoint if there are any.",
    )


def _publication_fix(connection: Connection, table: SourceTable, publication: str) -> str:
    """Returns how to correct a publication; empty if it is complete."""
    name = sql.Identifier(publication)
    create = sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(name, table.identifier)
    parameters = (table.schema, table.name, publication)
    found = connection.execute(_PUBLICATION, parameters).fetchone()
    if found is None:
        may_create = (
            "SELECT pg_has_role(relowner, 'usage') AND has_database_privilege("
            f"current_database(), 'CREATE') FROM pg_class WHERE oid = {table.oid}"
        )
        if not _value(connection, may_create):
            return f"It does not exist. {create.as_string(None)}, as the owner of the table."
        connection.execute(create)
        return ""
    is_complete, has_table, row_filter, columns = found
    own = name.as_string(None)
    if not has_table:
        return f"ALTER PUBLICATION {own} ADD TABLE {table.text}."
    if not is_complete:
        return f"ALTER PUBLICATION {own} SET (publish = 'insert, update, delete, truncate')."
    wanted = {column.name for column in table.columns.values()} | set(table.key)
    if row_filter is not None or not wanted <= set(columns):
        return f"Remove the row filter and the column list of {table.text} from it."
    return ""


def create_slot(target: Target, session: Session, name: str, *, replace: bool) -> Slot:
    """Creates a slot. The server waits for transactions that are running.

    `replace`: drop a slot of the same name, of a run that ended before its first batch.
    """

    def create(connection: Connection) -> Slot:
        replication = target.connect(replication="database")
        try:
            with target.connect() as other:
                _make_room(target, other, name, replace=replace)
            statement = sql.SQL(_CREATE_SLOT).format(sql.Identifier(name))
            row = replication.execute(statement).fetchone()
            assert row is not None
            # The snapshot exists as long as the other connection is idle.
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(row[2])))
            snapshot = str(_value(connection, "SELECT pg_current_snapshot()::text"))
            return Slot(name, lsn_of(row[1]), snapshot)
        finally:
            replication.close()

    return session.run(create)


def _make_room(target: Target, connection: Connection, name: str, *, replace: bool) -> None:
    if replace:
        drop_slot(connection, name)
    elif connection.execute(_HAS_SLOT, [name]).fetchone():
        raise RunError(
            "MS-RUN-POSTGRESQL-SLOT",
            f"{target.owner}: the replication slot {name} exists, and the checkpoint is new.",
            fix="Set another 'slot.name'. If no other job reads the slot, drop it: SELECT "
            f"pg_drop_replication_slot('{name}').",
        )


def quoted(publication: str) -> str:
    """Returns the name of a publication as pgoutput reads it."""
    return sql.Identifier(publication).as_string(None)


def drop_slot(connection: Connection, name: str) -> None:
    connection.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
        [name],
    )


def check_slot(target: Target, connection: Connection, name: str, lsn: int) -> int:
    """Returns the position of a slot; raises MS-RUN-POSTGRESQL-SLOT unless it has all changes from
    `lsn` on."""
    row = connection.execute(
        "SELECT confirmed_flush_lsn::text, coalesce(wal_status, '') FROM pg_replication_slots"
        " WHERE slot_name = %s",
        [name],
    ).fetchone()
    if row is None:
        raise target.slot_error(f"the replication slot {name} does not exist any more")
    if row[1] == "lost" or row[0] is None:
        raise target.slot_error(f"the server has invalidated the replication slot {name}")
    confirmed = lsn_of(row[0])
    if confirmed > lsn:
        raise target.slot_error(
            f"the replication slot {name} is at {row[0]}, after {lsn_text(lsn)} of the checkpoint, "
            "so changes between them are lost"
        )
    return confirmed


def advance_slot(target: Target, connection: Connection, name: str, lsn: int) -> None:
    """Lets the server delete what precedes a position."""
    if check_slot(target, connection, name, lsn) < lsn:
        connection.execute(
            "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [name, lsn_text(lsn)]
        )


def _value(connection: Connection, statement: str) -> object:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]
