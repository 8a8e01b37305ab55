"""Sends the rows of a task to the database, on executors.

A few rows go to the driver in the message of the task. More rows are copied to a staging table, in
chunks that are transactions of their own: a chunk is repeated as another part if the server was
unavailable, and the driver writes the parts that the messages name.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
from psycopg import sql

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.csv_rows import column_names, to_csv, to_frame
from millstream.connectors.postgresql.sink_options import OP
from millstream.connectors.postgresql.sink_statements import (
    copy_rows,
    create_batch_table,
    has_positions,
    set_part,
    set_part_default,
)
from millstream.connectors.postgresql.sink_table import SinkTable
from millstream.connectors.postgresql.target import Session, Target
from millstream.connectors.sink import Message, TaskId

MESSAGE_BYTES = 1 << 20  # a task with fewer bytes sends them to the driver
CHUNK_BYTES = 8 << 20  # of a transaction
_TASK_BITS = 40  # a task has fewer than 2^40 rows
_LOCK = "SELECT pg_advisory_xact_lock(hashtext({}))"


@dataclass(frozen=True, slots=True)
class BatchOpener:
    """Opens the writers of a batch. `staging`: the name of its staging table."""

    target: Target
    table: SinkTable
    staging: str
    message_bytes: int = MESSAGE_BYTES
    chunk_bytes: int = CHUNK_BYTES

    def open(self, task: TaskId) -> BatchWriter:
        return BatchWriter(self, task.task)


@dataclass(slots=True)
class BatchWriter:
    """Writes the rows of one task."""

    opener: BatchOpener
    task: int
    _rows: int = 0  # of the task
    _chunk_rows: int = 0  # in the buffer
    _parts: list[int] = field(default_factory=list)
    _staged: int = 0  # rows in the parts
    _buffer: bytearray = field(default_factory=bytearray)
    _session: Session | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        # The driver adds rows as task -1, so they precede those of executors.
        first = ((self.task + 1) << _TASK_BITS) + self._rows
        frame = rows_to_copy(self.opener.table, rows, first)
        self._buffer += to_csv(frame)
        self._rows += rows.num_rows
        self._chunk_rows += frame.height
        if len(self._buffer) >= self.opener.chunk_bytes:
            self._stage()

    def close(self) -> Message:
        message: Message = {"rows": self._rows}
        if self._parts or len(self._buffer) > self.opener.message_bytes:
            self._stage()
        elif self._buffer:
            message["data"] = bytes(self._buffer)
        self._end()
        return message | {"parts": self._parts, "staged": self._staged}

    def abort(self) -> None:
        """Ends the connection. The driver does not read the parts of a failed attempt."""
        self._end()

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    def _stage(self) -> None:
        if not self._buffer:
            return
        if self._session is None:
            self._session = Session(self.opener.target)
            opener = self.opener
            self._session.run(lambda each: create_staging(each, opener.table, opener.staging))
        self._parts.append(self._session.run(self._copy))
        self._staged += self._chunk_rows
        self._chunk_rows = 0
        self._buffer.clear()

    def _copy(self, connection: Connection) -> int:
        opener, part = self.opener, secrets.randbits(62)
        staging = sql.Identifier(opener.table.schema, opener.staging)
        connection.execute(set_part(part))
        with connection.cursor() as cursor, cursor.copy(copy_rows(opener.table, staging)) as copy:
            copy.write(self._buffer)
        return part


def create_staging(connection: Connection, table: SinkTable, name: str) -> None:
    """Creates the staging table of a batch, unless another task has created it."""
    identifier = sql.Identifier(table.schema, name)
    connection.execute(sql.SQL(_LOCK).format(sql.Literal(name)))
    row = connection.execute(
        "SELECT to_regclass(%s)", [identifier.as_string(connection)]
    ).fetchone()
    if row is None or row[0] is None:
        connection.execute(create_batch_table(table, identifier, "UNLOGGED"))
        connection.execute(set_part_default(identifier))


def rows_to_copy(table: SinkTable, rows: pa.RecordBatch, first: int) -> pl.DataFrame:
    """Returns the columns that COPY reads; of rows with the same key, only the last."""
    names = [*table.names, OP] if table.is_changelog else [*table.names]
    frame = to_frame(rows, names)
    if has_positions(table):
        op = pl.col(f"c{len(table.names)}") if table.is_changelog else pl.lit(None, pl.String)
        position = pl.int_range(first, first + pl.len(), dtype=pl.Int64)
        columns = column_names(len(table.names))
        frame = frame.select(*columns, position.alias("position"), op.alias("op"))
        if table.key:
            key = [f"c{table.columns.index(name)}" for name in table.key]
            frame = frame.unique(key, keep="last", maintain_order=True)
    return frame
