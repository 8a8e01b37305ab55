"""The PostgreSQL sink: each batch is one transaction with its rows and its number.

    executors   copy rows to a staging table, in transactions of their own (`batch_writer`)
    driver      BEGIN; record the batch; move the rows to the sink's table; COMMIT

A batch whose number is recorded is not written again. Readers see whole batches only.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from psycopg import sql
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.arrow_writer import ArrowOpener
from millstream.connectors.postgresql.batch_writer import BatchOpener, create_staging
from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.markers import RETENTION, TABLE, Markers
from millstream.connectors.postgresql.sink_options import OP, key_columns
from millstream.connectors.postgresql.sink_statements import (
    copy_rows,
    count_rows,
    create_batch_table,
    has_positions,
    set_part,
    set_part_default,
    write_rows,
)
from millstream.connectors.postgresql.sink_table import SinkTable, prepare_table
from millstream.connectors.postgresql.sink_types import SinkColumn, is_nested
from millstream.connectors.postgresql.target import Session, Target
from millstream.connectors.sink import BatchId, Message, WriterOpener
from millstream.errors import PlanError, RunError
from millstream.plan.nodes import SinkDef
from millstream.suggestions import same

_STAGING = "millstream_staging_"
_DIRECT = 0  # the part of rows that the driver copies
_RESTART = "Run the job again: it continues from its checkpoint and writes no row twice."


@dataclass(slots=True)
class PostgresSink:
    """Writes each batch to a table exactly once."""

    sink: SinkDef
    target: Target
    _table: SinkTable | None = None
    _session: Session = field(init=False)
    _staging: str = ""  # the staging table of the current batch
    _has_begun: bool = False  # whether this run has begun a batch
    _is_written: bool = False  # whether an earlier run has committed the current batch

    stable_tasks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._session = Session(self.target)

    @classmethod
    def open(cls, sink: SinkDef, base: Path) -> PostgresSink:
        return cls(sink, Target.of("sink", sink, base))

    def check(self, rows: Callable[[], DataFrame]) -> None:
        """Creates the table or checks it, so that errors are reported before the job starts."""
        self._prepare(rows().schema)

    def check_side_output(self, schema: pa.Schema) -> None:
        fields = from_arrow_schema(schema)
        for each in fields:
            if is_nested(each.dataType):
                raise self._unsupported(each.name, each.dataType.simpleString())
        self._prepare(fields)

    def projection(self, schema: StructType, *, ansi: bool = True) -> dict[str, Column]:  # noqa: ARG002
        """Returns the columns of a query, with nested values as JSON."""
        options = {"ignoreNullFields": "false"}
        return {
            each.name: F.to_json(column, options) if is_nested(each.dataType) else column
            for each in schema
            for column in [F.col("`" + each.name.replace("`", "``") + "`")]
        }

    def begin(self, batch: BatchId) -> WriterOpener:
        assert self._table is not None
        if not self._has_begun:
            self._session.run(lambda connection: self._resume(connection, batch))
            self._has_begun = True
        else:
            self._is_written = False
        if self._is_written:
            return ArrowOpener(0)
        self._staging = self._staging_prefix(batch) + secrets.token_hex(4)
        return BatchOpener(self.target, self._table, self._staging)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        if not self._is_written:
            self._session.run(lambda connection: self._commit(connection, batch, messages))

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:  # noqa: ARG002
        self._session.run(self._drop_staging, 0)

    def _prepare(self, schema: StructType) -> None:
        columns = [SinkColumn(each.name, each.dataType) for each in schema if each.name != OP]
        for each in columns:
            if each.database_type is None:
                raise self._unsupported(each.name, each.kind.simpleString())

        def prepare(connection: Connection) -> SinkTable:
            found = prepare_table(
                self.target,
                connection,
                columns,
                key_columns(self.sink),
                create=self.sink.option("create.table", "true").lower() == "true",
                is_changelog=any(same(each.name, OP) for each in schema),
            )
            Markers(found.schema).create(connection)
            return found

        self._table = self._session.run(prepare, self.target.connect_seconds)

    def _unsupported(self, name: str, kind: str) -> PlanError:
        return PlanError(
            "MS-PLAN-SINK-TYPE",
            f"column {name} of the sink {self.sink.name} has the type {kind}, which a PostgreSQL "
            "sink does not support here.",
            fix="CAST it to STRING, or remove the column.",
            place=self.sink.place,
        )

    def _resume(self, connection: Connection, batch: BatchId) -> None:
        """Finds out whether an earlier run has committed the batch; removes its staging tables."""
        assert self._table is not None
        last = Markers(self._table.schema).last_batch(connection, batch)
        if last is None and batch.batch > 0:
            raise self._unknown_batch(
                f"{self._table.schema}.{TABLE} has no record of the batches of this checkpoint, so "
                f"whether batch {batch.batch} was written is unknown",
                "Use the database that the job has written to. If it is a new one, or the job "
                f"has not run for {RETENTION}, start with a new checkpoint, or insert the row "
                f"('{batch.writer}', {batch.batch - 1}) into {TABLE}.",
            )
        if last is not None and last > batch.batch:
            raise self._unknown_batch(
                f"the table contains batches up to {last} of this checkpoint, which is at batch "
                f"{batch.batch}: the checkpoint is older than the table",
                "Use the latest checkpoint, or empty the table and start with --fresh.",
            )
        self._is_written = last == batch.batch
        prefix = self._staging_prefix(batch)
        rows = connection.execute(
            "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = %s"
            " AND starts_with(tablename, %s)",
            [self._table.schema, prefix],
        ).fetchall()
        for (name,) in rows:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._named(name)))

    def _unknown_batch(self, cause: str, fix: str) -> RunError:
        return RunError("MS-RUN-POSTGRESQL-MARKER", f"sink {self.sink.name}: {cause}.", fix=fix)

    def _commit(self, connection: Connection, batch: BatchId, messages: Sequence[Message]) -> None:
        assert self._table is not None
        table = self._table
        # A commit that the server reports must survive its crash: Spark then commits the batch.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', true)"
            " WHERE current_setting('synchronous_commit') = 'off'"
        )
        if not Markers(table.schema).record(connection, batch):
            return  # committed by an attempt that did not learn of it
        lines = [message["data"] for message in messages if message.get("data")]
        parts = [part for message in messages for part in message["parts"]]
        if parts:
            self._write_staged(connection, table, lines, parts, messages)
        elif lines and has_positions(table):
            source = sql.Identifier("pg_temp", self._staging_prefix(batch))
            temporary = sql.Identifier(self._staging_prefix(batch))
            connection.execute(create_batch_table(table, temporary, "TEMP"))
            connection.execute(set_part_default(source))
            connection.execute(set_part(_DIRECT))
            self._copy(connection, copy_rows(table, source), lines)
            connection.execute(write_rows(table, source, [_DIRECT]))
        elif lines:
            self._copy(connection, copy_rows(table, table.identifier), lines)

    def _write_staged(
        self,
        connection: Connection,
        table: SinkTable,
        lines: Sequence[bytes],
        parts: Sequence[int],
        messages: Sequence[Message],
    ) -> None:
        source = self._named(self._staging)
        create_staging(connection, table, self._staging)
        row = connection.execute(count_rows(source, parts)).fetchone()
        expected = sum(message["staged"] for message in messages)
        if row is None or row[0] != expected:
            raise RunError(
                "MS-RUN-POSTGRESQL-LOST",
                f"sink {self.sink.name}: the server crashed and lost rows of a batch that was not "
                "committed yet.",
                fix=_RESTART,
            )
        if lines:
            connection.execute(set_part(_DIRECT))
            self._copy(connection, copy_rows(table, source), lines)
        connection.execute(write_rows(table, source, [*parts, _DIRECT]))
        self._drop_staging(connection)

    def _copy(
        self, connection: Connection, statement: sql.Composed, lines: Sequence[bytes]
    ) -> None:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for each in lines:
                copy.write(each)

    def _drop_staging(self, connection: Connection) -> None:
        if self._staging:
            name = self._named(self._staging)
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))

    def _named(self, name: str) -> sql.Identifier:
        assert self._table is not None
        return sql.Identifier(self._table.schema, name)

    def _staging_prefix(self, batch: BatchId) -> str:
        return _STAGING + hashlib.sha256(batch.writer.encode()).hexdigest()[:16] + "_"
