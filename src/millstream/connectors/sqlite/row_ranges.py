"""The Python data source that streams ranges of an SQLite table's rows."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import ClassVar
from urllib.parse import quote

from pyspark.sql.types import StructType

from millstream.connectors.python_source import NamedDataSource
from millstream.connectors.sqlite.database import quote_name
from millstream.connectors.value_ranges import RangeStream, Value
from millstream.connectors.work_items import ITEM
from millstream.errors import RunError

SETTINGS = "settings"
_WAIT = 60.0  # seconds for a process that writes


@dataclass(frozen=True, slots=True)
class RangeSettings:
    """The table of a stream.

    Attributes:
        column: The incremental column; empty: all rows are read once.
        limit: Rows of a batch, about.
    """

    owner: str
    path: str
    table: str
    column: str
    limit: int

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @property
    def stream(self) -> RangeStream:
        return RangeStream(SqliteBounds(self) if self.column else None, self.limit)


class SqliteRanges(NamedDataSource):
    called: ClassVar[str] = "millstream_sqlite"

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> RangeStream:  # noqa: ARG002, N802
        return RangeSettings(**json.loads(self.options[SETTINGS])).stream


@dataclass(frozen=True, slots=True)
class SqliteBounds:
    settings: RangeSettings

    def greatest(self, after: Value, to: Value, most: int | None) -> Value:
        settings = self.settings
        column, table = quote_name(settings.column), quote_name(settings.table)
        limits = [(f"{column} > ?", after), (f"{column} <= ?", to)]
        given = [(text, value) for text, value in limits if value is not None]
        where = " AND ".join([f"{column} IS NOT NULL", *(text for text, _ in given)])
        rows = f"SELECT {column} AS v FROM {table} WHERE {where}"
        if most is not None:
            rows += f" ORDER BY {column} LIMIT {most}"
        try:
            uri = f"file:{quote(settings.path)}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT)) as connection:
                found: Value = connection.execute(
                    f"SELECT max(v) FROM ({rows})", [value for _, value in given]
                ).fetchone()[0]
        except sqlite3.Error as error:
            raise RunError(
                "MS-RUN-SQLITE-FAILED",
                f"{settings.owner}: SQLite reports for {settings.path}: {error}.",
                fix="Correct the cause, then run again: the job continues from its checkpoint.",
            ) from None
        return found
