"""The sink of any database: each batch is one transaction with its rows and its number.

The rows of a batch go to the driver, which writes them with the statements that all databases know:
a row replaces another by a DELETE of its key and an INSERT.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StringType, StructType

from millstream.connectors.arrow_writer import ArrowOpener, collect_rows
from millstream.connectors.database.columns import database_type, fits, to_values
from millstream.connectors.database.target import Target
from millstream.connectors.key_changes import OP, is_removal, last_changes
from millstream.connectors.key_columns import key_columns
from millstream.connectors.nested_columns import is_nested, with_json
from millstream.connectors.sink import BatchId, Message, WriterOpener
from millstream.errors import PlanError, RunError
from millstream.plan.nodes import SinkDef
from millstream.suggestions import nearest, same

_ROWS = 10_000  # of a statement
_MARKERS = sa.Table(
    "millstream_batches",
    sa.MetaData(),
    sa.Column("writer", sa.String(255), primary_key=True),
    sa.Column("batch", sa.BigInteger, nullable=False),
)


@dataclass(slots=True)
class DatabaseSink:
    """Writes each batch to a table exactly once, if the table has transactions."""

    sink: SinkDef
    target: Target
    _table: sa.Table | None = None
    _spelled: dict[str, str] | None = None  # columns of the query: those of the table
    _is_written: bool = False

    stable_tasks: ClassVar[bool] = False

    @classmethod
    def opened(cls, sink: SinkDef, base: Path) -> DatabaseSink:
        return cls(sink, Target.of(f"sink {sink.name}", sink, base))

    def check(self, rows: Callable[[], DataFrame]) -> None:
        """Creates the table or checks it, so that errors are reported before the job starts."""
        self._prepare(rows().schema)

    def check_side_output(self, schema: pa.Schema) -> None:
        self._prepare(from_arrow_schema(schema))

    def projection(self, schema: StructType, *, ansi: bool = True) -> dict[str, Column]:  # noqa: ARG002
        return with_json(schema)

    def begin(self, batch: BatchId) -> WriterOpener:
        with self.target.connected() as connection:
            last = _last_batch(connection, batch)
        if last > batch.batch:
            raise RunError(
                "MS-RUN-DATABASE-MARKER",
                f"{self.target.owner}: the database contains batches up to {last} of this "
                f"checkpoint, which is at batch {batch.batch}: the checkpoint is older than it.",
                fix="Use the latest checkpoint, or empty the table and start with --fresh.",
            )
        self._is_written = last == batch.batch
        return ArrowOpener(0 if self._is_written else None)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        rows = collect_rows(messages, pa.table({}))
        if self._is_written or not rows.num_rows:
            return
        with self.target.connected() as connection:
            if _last_batch(connection, batch) == batch.batch:
                return
            connection.execute(sa.delete(_MARKERS).where(_MARKERS.c.writer == _writer(batch)))
            connection.execute(
                sa.insert(_MARKERS), {"writer": _writer(batch), "batch": batch.batch}
            )
            self._write(connection, rows)

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...

    def _write(self, connection: sa.Connection, rows: pa.Table) -> None:
        assert self._table is not None
        assert self._spelled is not None
        table, spelled = self._table, self._spelled
        key = [name for name in spelled if any(same(name, each) for each in key_columns(self.sink))]
        if key:
            rows = last_changes(rows, key)
            if any(rows.column(name).null_count for name in key):
                raise RunError(
                    "MS-RUN-DATABASE-VALUE",
                    f"{self.target.owner}: a key column has NULL, so the row cannot be identified.",
                    fix="Exclude such rows with WHERE, or use coalesce().",
                )
            match = sa.and_(
                *(table.c[spelled[n]] == sa.bindparam(f"k{i}") for i, n in enumerate(key))
            )
            for part in _parts(rows):
                values = [to_values(part.column(n), table.c[spelled[n]].type) for n in key]
                names = [f"k{i}" for i in range(len(key))]
                keys = [dict(zip(names, each, strict=True)) for each in zip(*values, strict=True)]
                connection.execute(sa.delete(table).where(match), keys)
        if OP in rows.schema.names:
            rows = rows.filter(pc.invert(is_removal(rows.column(OP))))
        for part in _parts(rows):
            values = [to_values(part.column(n), table.c[c].type) for n, c in spelled.items()]
            records = zip(*values, strict=True)
            stored = list(spelled.values())
            connection.execute(
                sa.insert(table), [dict(zip(stored, each, strict=True)) for each in records]
            )

    def _prepare(self, schema: StructType) -> None:
        columns = {each.name: _arrow(each.dataType) for each in schema if each.name != OP}
        keys = key_columns(self.sink)
        for name, kind in columns.items():
            if database_type(kind, is_key=False) is None:
                raise PlanError(
                    "MS-PLAN-SINK-TYPE",
                    f"column {name} of the sink {self.sink.name} has the type {kind}, which a "
                    "database sink does not support.",
                    fix="CAST it to STRING, or remove the column.",
                    place=self.sink.place,
                )
        with self.target.connected() as connection:
            _MARKERS.create(connection, checkfirst=True)
            if self.target.reflect(connection) is None:
                self._create(connection, columns, keys)
            table = self.target.reflect(connection)
        assert table is not None
        self._spelled = self._checked(table, columns)
        self._table = table

    def _create(
        self, connection: sa.Connection, columns: dict[str, pa.DataType], keys: Sequence[str]
    ) -> None:
        if self.sink.option("create.table", "true").lower() != "true":
            raise self.target.name.error(
                f"the database has no table {self.target.table}",
                "Create the table, or remove 'create.table'.",
            )
        schema, _, name = self.target.table.rpartition(".")
        parts = []
        for each, kind in columns.items():
            is_key = any(same(each, part) for part in keys)
            made = database_type(kind, is_key=is_key)
            parts.append(sa.Column(each, made, primary_key=is_key, autoincrement=False))
        sa.Table(name, sa.MetaData(), *parts, schema=schema or None).create(connection)

    def _checked(self, table: sa.Table, columns: dict[str, pa.DataType]) -> dict[str, str]:
        """Returns the columns of the table by those of the query."""
        spelled = {}
        for name, kind in columns.items():
            found = next((each for each in table.columns if same(each.name, name)), None)
            if found is None:
                raise self.target.name.error(
                    f"the table {self.target.table} has no column {name}",
                    nearest(name, table.columns.keys()) or f"Add it, or exclude {name}.",
                )
            if not fits(kind, found.type):
                raise self.target.name.error(
                    f"column {found.name} of {self.target.table} is {found.type}, which cannot "
                    f"store values of the query's column, {kind}",
                    "CAST it in the query, or change the table.",
                )
            spelled[name] = found.name
        return spelled


def _arrow(kind: DataType) -> pa.DataType:
    is_text = is_nested(kind) or isinstance(kind, StringType)
    return pa.string() if is_text else to_arrow_type(kind, timezone="UTC")


def _parts(rows: pa.Table) -> list[pa.Table]:
    return [rows.slice(start, _ROWS) for start in range(0, rows.num_rows, _ROWS)]


def _writer(batch: BatchId) -> str:
    name = batch.writer
    return name if len(name) <= 255 else hashlib.sha256(name.encode()).hexdigest()


def _last_batch(connection: sa.Connection, batch: BatchId) -> int:
    found = sa.select(_MARKERS.c.batch).where(_MARKERS.c.writer == _writer(batch))
    last = connection.execute(found).scalar()
    return -1 if last is None else int(last)
