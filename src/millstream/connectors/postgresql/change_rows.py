"""Reads transactions of a replication slot on an executor, as rows of a source.

The server decodes the transactions and keeps the messages, on its disk if they are large; they are
fetched in blocks. If the connection is lost, the same transactions are decoded again and the
messages that were fetched before are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.copied_rows import prepare
from millstream.connectors.postgresql.pgoutput import (
    ChangeDecoder,
    Changes,
    MissingOldRowError,
    Relation,
    TruncatedError,
)
from millstream.connectors.postgresql.slots import lsn_of, lsn_text, missing_old_rows, quoted
from millstream.connectors.postgresql.source_columns import SourceColumns
from millstream.connectors.postgresql.source_items import Item
from millstream.connectors.postgresql.source_table import (
    SourceTable,
    is_readable_text,
    wrong_type,
)
from millstream.connectors.postgresql.target import Session, Target, UnavailableError
from millstream.errors import RunError

_MESSAGES = 20_000  # of a block
_BLOCK = 8 << 20  # bytes, from which on the next block has fewer messages
_PEEK = """
SELECT data FROM pg_logical_slot_peek_binary_changes(
  %s, %s::pg_lsn, NULL, 'proto_version', '1', 'publication_names', %s)
"""
_PAUSE = 0.2  # seconds before another attempt
_COLUMNS = """
SELECT attname::text FROM pg_catalog.pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""
_TYPES = """
SELECT t.oid::bigint, coalesce(b.typname, t.typname)::text, pg_catalog.format_type(t.oid, NULL)
FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
WHERE t.oid = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads the changes of one table from a slot. `item` has the range of commits."""

    target: Target
    table: SourceTable
    publication: str
    ignores_truncate: bool
    item: Item

    def rows(self, columns: SourceColumns) -> Iterator[pa.RecordBatch]:
        checked: Relation | None = None
        missing: frozenset[str] = frozenset()
        for changes in self.changes(lsn_of(self.item.start), lsn_of(self.item.end)):
            if changes.relation is not checked:
                checked = changes.relation
                missing = check_relation(self.target, self.table, checked, columns)
            yield columns.rows(
                texts_of(changes, columns.database_names, missing),
                changes.ops,
                changes.lsns,
                changes.times,
            )

    def changes(self, start: int, end: int) -> Iterator[Changes]:
        """Yields the changes of transactions whose commits are in [start, end)."""
        table = self.table
        decoder = ChangeDecoder(table.oid, table.key, start, end, self.ignores_truncate)
        with self._errors():
            for messages in self._messages(end):
                yield from decoder.decode(messages)

    def _messages(self, end: int) -> Iterator[list[bytes]]:
        fetched, limit = 0, self.target.retry_seconds
        until = time.monotonic() + limit
        while True:
            try:
                for messages in self._attempt(end, fetched):
                    yield messages
                    fetched += len(messages)
                    until = time.monotonic() + limit
            except psycopg.Error as error:
                reason = self.target.translate(error)
                if not isinstance(reason, UnavailableError):
                    raise reason from None
            else:
                return
            # An earlier attempt may still read the slot.
            if time.monotonic() > until:
                raise self.target.unavailable(str(reason), limit)
            time.sleep(_PAUSE)

    def _attempt(self, end: int, fetched: int) -> Iterator[list[bytes]]:
        """Yields blocks of messages after the first `fetched`."""
        count = _MESSAGES
        with Session(self.target).take() as connection, connection.transaction():
            cursor = self._cursor(connection, end)
            if fetched:
                cursor.scroll(fetched)
            while found := cursor.fetchmany(count):
                messages = [row[0] for row in found]
                yield messages
                size = sum(map(len, messages)) // len(messages)
                count = max(1, min(_MESSAGES, _BLOCK // max(1, size)))

    def _cursor(self, connection: Connection, end: int) -> psycopg.ServerCursor[tuple[Any, ...]]:
        prepare(connection)
        cursor = connection.cursor("millstream_changes", binary=True)
        return cursor.execute(_PEEK, [self.item.slot, lsn_text(end), quoted(self.publication)])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except MissingOldRowError:
            raise missing_old_rows(self.target, self.table) from None
        except TruncatedError as error:
            raise RunError(
                "MS-RUN-POSTGRESQL-TRUNCATE",
                f"{self.target.owner}: {self.table.text} was truncated at {lsn_text(error.lsn)}. "
                "The deleted rows are not in the log, so they cannot be retracted.",
                fix="Empty the sink and start with a new checkpoint, or set 'on.truncate' = "
                "'ignore' to keep the rows in results. DELETE instead of TRUNCATE is read as "
                "changes.",
            ) from None


def check_relation(
    target: Target, table: SourceTable, relation: Relation, columns: SourceColumns
) -> frozenset[str]:
    """Compares the table of a transaction with the declared columns. Returns columns that the table
    did not have yet; raises MS-RUN-POSTGRESQL-TABLE for one that it has no more or whose type
    cannot be read."""
    wanted = {name: table.columns[name] for name in columns.wanted if name in table.columns}
    types = dict(zip(relation.columns, relation.types, strict=True))
    missing = {column.name for column in wanted.values()} - set(types)

    def query(connection: Connection) -> tuple[set[str], Mapping[int, Sequence[str]]]:
        now = connection.execute(_COLUMNS, [table.oid]).fetchall()
        known = connection.execute(_TYPES, [list(types.values())]).fetchall()
        return {row[0] for row in now}, {row[0]: row[1:] for row in known}

    session = Session(target)
    present, known = session.run(query)
    session.close()
    if dropped := sorted(missing - present):
        raise target.table_error(
            f"the column {dropped[0]} of {table.text} was dropped",
            f"Remove {dropped[0]} from the source and start with a new checkpoint.",
        )
    for name, column in wanted.items():
        if column.name in types:
            base, text = known.get(types[column.name], ("", "a type that was dropped"))
            if not is_readable_text(base, table.types[name]):
                raise wrong_type(target, name, table.types[name], base, text)
    return frozenset(missing)


def texts_of(
    changes: Changes, names: Sequence[str], missing: frozenset[str] = frozenset()
) -> dict[str, pa.Array]:
    """Returns columns as text; one that the table did not have yet is NULL."""
    places = {name: number for number, name in enumerate(changes.relation.columns)}
    return {
        name: pa.nulls(changes.ops.size, pa.large_string())
        if name in missing
        else changes.column(places[name])
        for name in names
    }
