"""Provides the reference tables of a test case instead of files and databases.

A broadcast table gets the rows of the case; a lookup table becomes a SQLite database with them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.plan.nodes import Broadcast, Job, ReferenceTable
from millstream.plan.nodes.traversal import reference_tables_of, with_reference_tables
from millstream.run.job import JobRun
from millstream.testing.arrow_rows import arrow_rows
from millstream.testing.case import Case
from millstream.testing.sources import given_input, rows_of, types_of
from millstream.values import Lookup


@dataclass(slots=True)
class GivenTables:
    """The tables of a case. Batch i of a table's input is its content from micro-batch i on."""

    case: Case
    folder: Path
    number: int = 0
    _tables: tuple[ReferenceTable, ...] = field(default=())

    def replace_lookup_tables(self, job: Job) -> Job:
        """Returns the job with lookup tables replaced by SQLite databases with the case's rows."""
        self._tables = reference_tables_of(job)
        for table in self._tables:
            if isinstance(table.access, Lookup):
                self._write(table)
        return with_reference_tables(job, self._replace_table)

    @property
    def has_changes(self) -> bool:
        return any(len(given_input(self.case, table).batches) > 1 for table in self._tables)

    def advance_to(self, number: int, run: JobRun) -> None:
        """Sets the content of tables from this micro-batch on. No micro-batch is running, so the
        change applies at once."""
        self.number = number
        for table in self._tables:
            if number >= len(given_input(self.case, table).batches):
                continue
            if isinstance(table.access, Broadcast):
                run.tables.refresh(table, activation_delay=0)
            else:
                self._write(table)

    def read(self, table: ReferenceTable) -> pa.Table:
        ddl = ", ".join(f"`{name}` {type_}" for name, type_ in types_of(table).items())
        schema = to_arrow_schema(cast("StructType", StructType.fromDDL(ddl)), timezone="UTC")
        return arrow_rows(self._rows(table), schema, table.name)

    def _rows(self, table: ReferenceTable) -> list[dict[str, Any]]:
        given = given_input(self.case, table)
        rows = given.batches[min(self.number, len(given.batches) - 1)] if given.batches else ()
        return rows_of(rows, table, given)

    def _replace_table(self, table: ReferenceTable) -> ReferenceTable:
        if isinstance(table.access, Broadcast):
            return table
        options = (("path", str(self._database(table))),)
        return replace(table, connector="sqlite", options=options)

    def _database(self, table: ReferenceTable) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{table.name}.sqlite"

    def _write(self, table: ReferenceTable) -> None:
        columns = [_quoted(column.name) for column in table.columns]
        marks = ", ".join("?" for _ in columns)
        rows = [_storable(row.values()) for row in self._rows(table)]
        with closing(sqlite3.connect(self._database(table))) as database, database:
            # Without column types, SQLite stores values unchanged.
            database.execute(f"DROP TABLE IF EXISTS {_quoted(table.name)}")
            database.execute(f"CREATE TABLE {_quoted(table.name)} ({', '.join(columns)})")
            database.executemany(f"INSERT INTO {_quoted(table.name)} VALUES ({marks})", rows)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _storable(values: Iterable[object]) -> list[object]:
    return [
        value.isoformat()
        if isinstance(value, date | datetime)
        else str(value)
        if isinstance(value, Decimal)
        else value
        for value in values
    ]
