"""Records which batches a database contains, one row per output of a checkpoint.

The row is written in the transaction that writes the batch, so that both are committed or neither.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.sink import BatchId

TABLE = "millstream_batches"
RETENTION = "1 year"  # a job that has not run for longer has to start again
# Several jobs may create the table at the same time.
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('millstream_batches'))"


@dataclass(frozen=True, slots=True)
class Markers:
    """The table of markers, in the schema of a sink's table."""

    schema: str

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, TABLE)

    def create(self, connection: Connection) -> None:
        """Creates the table if it does not exist; removes markers of abandoned checkpoints."""
        connection.execute(_LOCK)
        found = connection.execute(
            "SELECT to_regclass(%s)", [self.identifier.as_string(connection)]
        ).fetchone()
        if found is None or found[0] is None:
            connection.execute(
                sql.SQL(
                    "CREATE TABLE {} (writer text PRIMARY KEY, batch bigint NOT NULL,"
                    " committed_at timestamp with time zone NOT NULL DEFAULT now())"
                ).format(self.identifier)
            )
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE committed_at < now() - {}::interval").format(
                self.identifier, sql.Literal(RETENTION)
            )
        )

    def last_batch(self, connection: Connection, batch: BatchId) -> int | None:
        """Returns the last batch of this output that was written; None if there is none."""
        row = connection.execute(
            sql.SQL("SELECT batch FROM {} WHERE writer = {}").format(
                self.identifier, sql.Literal(batch.writer)
            )
        ).fetchone()
        return None if row is None else int(row[0])

    def record(self, connection: Connection, batch: BatchId) -> bool:
        """Records a batch; returns False if it was written before. A concurrent attempt waits."""
        done = connection.execute(
            sql.SQL(
                "INSERT INTO {0} AS m (writer, batch) VALUES ({1}, {2}) ON CONFLICT (writer)"
                " DO UPDATE SET batch = excluded.batch, committed_at = now()"
                " WHERE m.batch < excluded.batch RETURNING batch"
            ).format(self.identifier, sql.Literal(batch.writer), sql.Literal(batch.batch))
        ).fetchone()
        return done is not None
