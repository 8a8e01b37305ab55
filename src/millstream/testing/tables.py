"""Reference tables of a case. Its rows stand in the place of files and databases: a table that is
held is given them; one that is asked is a SQLite database with them."""

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

from millstream.plan.nodes import Broadcast, Job, Reference
from millstream.plan.nodes.traversal import references_of, with_references
from millstream.run.job import JobRun
from millstream.testing.arrow_rows import arrow_rows
from millstream.testing.case import Case
from millstream.testing.sources import given_input, rows_of, types_of
from millstream.values import Lookup


@dataclass(slots=True)
class GivenTables:
    """Item i of a table's `batches` is what it holds from micro-batch i on."""

    case: Case
    folder: Path
    number: int = 0
    _tables: tuple[Reference, ...] = field(default=())

    def placed(self, job: Job) -> Job:
        """The job with its databases replaced by ones that hold the case's rows."""
        self._tables = references_of(job)
        for table in self._tables:
            if isinstance(table.access, Lookup):
                self._write(table)
        return with_references(job, self._instead)

    @property
    def change(self) -> bool:
        return any(len(given_input(self.case, table).batches) > 1 for table in self._tables)

    def turn(self, number: int, run: JobRun) -> None:
        """The tables as they are from this micro-batch on. None is running, so it is at once."""
        self.number = number
        for table in self._tables:
            if number >= len(given_input(self.case, table).batches):
                continue
            if isinstance(table.access, Broadcast):
                run.tables.refresh(table, notice=0)
            else:
                self._write(table)

    def read(self, table: Reference) -> pa.Table:
        ddl = ", ".join(f"`{name}` {type_}" for name, type_ in types_of(table).items())
        schema = to_arrow_schema(cast("StructType", StructType.fromDDL(ddl)), timezone="UTC")
        return arrow_rows(self._rows(table), schema, table.name)

    def _rows(self, table: Reference) -> list[dict[str, Any]]:
        given = given_input(self.case, table)
        rows = given.batches[min(self.number, len(given.batches) - 1)] if given.batches else ()
        return rows_of(rows, table, text=given.text)

    def _instead(self, table: Reference) -> Reference:
        if isinstance(table.access, Broadcast):
            return table
        options = (("path", str(self._database(table))),)
        return replace(table, connector="sqlite", options=options)

    def _database(self, table: Reference) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{table.name}.sqlite"

    def _write(self, table: Reference) -> None:
        columns = [_quoted(column.name) for column in table.columns]
        marks = ", ".join("?" for _ in columns)
        rows = [_storable(row.values()) for row in self._rows(table)]
        with closing(sqlite3.connect(self._database(table))) as database, database:
            # Without types, SQLite keeps every value as it is given.
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
