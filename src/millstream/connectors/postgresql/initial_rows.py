"""Reads the rows that precede the changes of a slot, any number of times.

The snapshot of a slot's creation ends with its connection. A batch that is run
again after a crash must read the same rows, so they are reconstructed from the present ones:

    rows at the slot's creation = present rows of keys that have not changed since then
                                + old rows of the first change of each other key

The slot has all changes since its creation, and each has its old row. Which of them the present
rows contain is known from the snapshot of the transaction that reads them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
from psycopg import sql

from millstream.connectors.postgresql.change_rows import ChangeReader, check_relation, texts_of
from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.copied_rows import copy_blocks, interrupted
from millstream.connectors.postgresql.pgoutput import DELETE, INSERT, UPDATE_BEFORE
from millstream.connectors.postgresql.slots import lsn_of
from millstream.connectors.postgresql.source_columns import SourceColumns
from millstream.connectors.postgresql.source_items import Item
from millstream.connectors.postgresql.target import Session
from millstream.connectors.postgresql.visibility import Snapshot

_OP = "op"
_PAUSE = 0.05
_FLUSHED = "SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn"


@dataclass(frozen=True, slots=True)
class InitialRows:
    """The rows before the first change of `changes`."""

    changes: ChangeReader
    item: Item

    def rows(self, columns: SourceColumns) -> Iterator[pa.RecordBatch]:
        table = self.changes.table
        names = list(dict.fromkeys([*columns.database_names, *table.key]))
        try:
            with Session(self.changes.target).take() as connection:
                snapshot, end = self._begin(connection)
                changed = self._changed(columns, names, snapshot, end)
                keys = changed.select(table.key)
                for block in copy_blocks(connection, table, names, sql.SQL("true"), only=True):
                    present = pl.DataFrame(
                        dict(zip(names, map(pl.Series, block.columns), strict=True))
                    )
                    yield self._built(columns, present.join(keys, on=table.key, how="anti"))
                connection.execute("COMMIT")
        except psycopg.Error as error:
            raise interrupted(self.changes.target, error) from None
        old = changed.filter(pl.col(_OP).is_in([UPDATE_BEFORE, DELETE]))
        yield self._built(columns, old)

    def _begin(self, connection: Connection) -> tuple[Snapshot, str]:
        """Begins a transaction that sees all that precedes the slot. Returns its snapshot, and a
        position after all that it sees."""
        before = Snapshot.parse(self.item.snapshot)
        while True:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = connection.execute(
                "SELECT pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text"
            ).fetchone()
            assert row is not None
            found = Snapshot.parse(row[0])
            # A transaction is in the log a moment before others see it.
            if not any(before.sees(xid) for xid in found.running):
                break
            connection.execute("ROLLBACK")
            time.sleep(_PAUSE)
        return found, str(row[1])

    def _changed(
        self, columns: SourceColumns, names: list[str], snapshot: Snapshot, end: str
    ) -> pl.DataFrame:
        """Returns the first change of each key that the transaction sees, with its old row."""
        reader, table = self.changes, self.changes.table
        session = Session(reader.target)

        def is_flushed(connection: Connection) -> bool:
            return connection.execute(_FLUSHED, [end]).fetchone() == (True,)

        while not session.run(is_flushed):
            time.sleep(_PAUSE)
        session.close()
        empty = {name: pl.Series(name, [], pl.String) for name in names}
        found = pl.DataFrame({**empty, _OP: pl.Series(_OP, [], pl.Int8)})
        checked, missing = None, frozenset[str]()
        for changes in reader.changes(lsn_of(self.item.start), lsn_of(end)):
            if changes.relation is not checked:
                checked = changes.relation
                missing = check_relation(reader.target, table, checked, columns)
            texts = texts_of(changes, names, missing)
            block = pl.DataFrame({name: pl.Series(name, text) for name, text in texts.items()})
            block = block.with_columns(pl.Series(_OP, changes.ops))
            seen = pl.Series(snapshot.sees_each(changes.xids))
            found = pl.concat([found, block.filter(seen)])
            found = found.unique(table.key, keep="first", maintain_order=True)
        return found

    def _built(self, columns: SourceColumns, frame: pl.DataFrame) -> pa.RecordBatch:
        texts = {
            name: frame[name].to_arrow().cast(pa.large_string()) for name in columns.database_names
        }
        rows, item = frame.height, self.item
        return columns.rows(
            texts, np.full(rows, INSERT, np.int8), np.full(rows, item.lsn), np.full(rows, item.time)
        )
