"""The SQLite sink: each batch is one transaction with its rows and its number.

The rows of a batch go to the driver in the messages of tasks, because only processes of one machine
can open the file, and one of them writes at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.arrow_writer import ArrowOpener, collect_rows
from millstream.connectors.key_changes import OP, is_removal, last_changes
from millstream.connectors.key_columns import key_columns
from millstream.connectors.lake.table import TableName
from millstream.connectors.nested_columns import is_nested, with_json
from millstream.connectors.paths import resolve
from millstream.connectors.sink import BatchId, Message, WriterOpener
from millstream.connectors.sqlite.database import quote_name
from millstream.connectors.sqlite.sink_table import SinkTable, prepare_table
from millstream.connectors.sqlite.sink_types import database_type, nan_column, to_rows
from millstream.errors import PlanError, RunError
from millstream.plan.nodes import SinkDef

_MARKERS = "millstream_batches"
_WAIT = 60.0  # seconds for another process that writes to the file


def open_sink(sink: SinkDef, base: Path) -> SqliteSink:
    return SqliteSink(sink, resolve(sink.option("path"), base))


@dataclass(slots=True)
class SqliteSink:
    """Writes each batch to a table exactly once."""

    sink: SinkDef
    path: str
    _table: SinkTable | None = None
    _is_written: bool = False  # whether an earlier attempt has committed the current batch

    stable_tasks: ClassVar[bool] = False

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
        return with_json(schema)

    def begin(self, batch: BatchId) -> WriterOpener:
        with self._connected() as connection:
            last = _last_batch(connection, batch)
        if last > batch.batch:
            raise RunError(
                "MS-RUN-SQLITE-MARKER",
                f"sink {self.sink.name}: {self.path} contains batches up to {last} of this "
                f"checkpoint, which is at batch {batch.batch}: the checkpoint is older than the "
                "database.",
                fix="Use the latest checkpoint, or empty the table and start with --fresh.",
            )
        self._is_written = last == batch.batch
        return ArrowOpener(0 if self._is_written else None)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        assert self._table is not None
        rows = collect_rows(messages, pa.table({}))
        if self._is_written or not rows.num_rows:
            return
        if (name := nan_column(rows)) is not None:
            raise self._value(f"column {name} has NaN, which SQLite would store as NULL")
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if _last_batch(connection, batch) < batch.batch:
                connection.execute(
                    f"INSERT OR REPLACE INTO {_MARKERS} (writer, batch) VALUES (?, ?)",
                    (batch.writer, batch.batch),
                )
                self._write(connection, self._table, rows)
            connection.execute("COMMIT")

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def _prepare(self, schema: StructType) -> None:
        columns = [each for each in schema if each.name != OP]
        for each in columns:
            if database_type(each.dataType) is None:
                raise self._unsupported(each.name, each.dataType.simpleString())
        name = TableName(f"sink {self.sink.name}", self.sink.option("table"), "MS-RUN-SQLITE-TABLE")
        create = self.sink.option("create.table", "true").lower() == "true"
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._table = prepare_table(
                name, connection, columns, key_columns(self.sink), create=create
            )
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {_MARKERS}"
                " (writer TEXT PRIMARY KEY, batch INTEGER NOT NULL)"
            )
            connection.execute("COMMIT")

    def _write(self, connection: sqlite3.Connection, table: SinkTable, rows: pa.Table) -> None:
        """Applies the rows in their order; by key, the last change of each."""
        if table.key:
            if any(rows.column(name).null_count for name in table.key):
                raise self._value("a key column has NULL, so the row cannot be identified")
            rows = last_changes(rows, table.key)
        removed = pa.chunked_array([pa.repeat(False, rows.num_rows)])
        if OP in rows.schema.names:
            removed = is_removal(rows.column(OP))
        rows = rows.select(list(table.names))
        for start, count, is_removed in _runs(removed):
            part = rows.slice(start, count)
            if is_removed:
                values = part.select(list(table.key)) if table.key else part
                connection.executemany(_delete(table), to_rows(values))
            else:
                connection.executemany(_insert(table), to_rows(part))

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yields a connection without automatic transactions; a block that fails is undone."""
        try:
            connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
            try:
                yield connection
            finally:
                connection.close()
        except (sqlite3.IntegrityError, sqlite3.DataError) as error:
            raise self._value(str(error)) from None
        except sqlite3.Error as error:
            raise RunError(
                "MS-RUN-SQLITE-FAILED",
                f"sink {self.sink.name}: SQLite reports for {self.path}: {error}.",
                fix="Correct the cause, then run again: the job continues from its checkpoint.",
            ) from None

    def _value(self, cause: str) -> RunError:
        return RunError(
            "MS-RUN-SQLITE-VALUE",
            f"sink {self.sink.name}: the table {self.sink.option('table')} does not accept a row: "
            f"{cause}.",
            fix="Exclude such rows with WHERE, or convert the value in the query.",
        )

    def _unsupported(self, name: str, kind: str) -> PlanError:
        return PlanError(
            "MS-PLAN-SINK-TYPE",
            f"column {name} of the sink {self.sink.name} has the type {kind}, which an SQLite "
            "sink does not support here.",
            fix="CAST it to STRING, or remove the column.",
            place=self.sink.place,
        )


def _last_batch(connection: sqlite3.Connection, batch: BatchId) -> int:
    row = connection.execute(
        f"SELECT batch FROM {_MARKERS} WHERE writer = ?", (batch.writer,)
    ).fetchone()
    return -1 if row is None else int(row[0])


def _runs(flags: pa.ChunkedArray) -> Iterator[tuple[int, int, bool]]:
    """Yields runs of equal values: where each starts, its length, and the value."""
    encoded = pc.run_end_encode(flags.combine_chunks())
    start = 0
    for end, flag in zip(encoded.run_ends.to_pylist(), encoded.values.to_pylist(), strict=True):
        yield start, end - start, flag
        start = end


def _insert(table: SinkTable) -> str:
    columns = ", ".join(map(quote_name, table.columns))
    places = ", ".join("?" * len(table.columns))
    text = f"INSERT INTO {quote_name(table.table)} ({columns}) VALUES ({places})"
    if not table.key:
        return text
    key = table.key_columns
    others = [quote_name(name) for name in table.columns if name not in key]
    update = ", ".join(f"{name} = excluded.{name}" for name in others)
    action = f"UPDATE SET {update}" if others else "NOTHING"
    return f"{text} ON CONFLICT ({', '.join(map(quote_name, key))}) DO {action}"


def _delete(table: SinkTable) -> str:
    """By key; without one, one of the rows with all values."""
    name = quote_name(table.table)
    names = table.key_columns or table.columns
    equal = " AND ".join(f"{quote_name(each)} IS ?" for each in names)
    if table.key:
        return f"DELETE FROM {name} WHERE {equal}"
    return f"DELETE FROM {name} WHERE rowid = (SELECT rowid FROM {name} WHERE {equal} LIMIT 1)"
