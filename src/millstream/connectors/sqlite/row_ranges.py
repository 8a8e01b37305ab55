"""Streams ranges of an SQLite table's rows: Spark logs their bounds, executors read them.

{"rows": 1}        all rows were read ('mode' = 'snapshot')
{"last": 1200}     the greatest value of the incremental column that was read; null: none
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from millstream.connectors.python_source import ErrorAnnotation, NamedDataSource
from millstream.connectors.sqlite.database import quote_name
from millstream.connectors.work_items import ITEM
from millstream.errors import RunError

SETTINGS = "settings"
_PAUSE = 0.1  # seconds between two looks for new rows
_WAIT = 60.0  # seconds for a process that writes
_SCHEMA = pa.schema([(ITEM, pa.string())])
Offset = dict[str, Any]


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


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows whose value of the incremental column is above `after` and at most `to`; None: all."""

    after: int | float | str | None
    to: int | float | str | None

    def encoded(self) -> str:
        return json.dumps([self.after, self.to])

    @classmethod
    def decoded(cls, text: str) -> RowRange:
        return cls(*json.loads(text))


class SqliteRanges(NamedDataSource):
    called: ClassVar[str] = "millstream_sqlite"

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> RangeStream:  # noqa: ARG002, N802
        return RangeStream(RangeSettings(**json.loads(self.options[SETTINGS])))


@dataclass
class Item(InputPartition):
    """The work item of one task."""

    item: str


class RangeStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, settings: RangeSettings) -> None:
        self.settings = settings
        self._target: Any = None
        self._is_bounded = False
        self._looked = -float("inf")

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"last": None} if self.settings.column else {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.settings.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._is_bounded = True
        if self.settings.column:
            with ErrorAnnotation():
                self._target = self._bound(None, None)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        if not self.settings.column:
            return {"rows": 1}
        now = time.monotonic()
        if not self._is_bounded and now - self._looked < _PAUSE:
            return start
        self._looked = now
        most = None if isinstance(limit, ReadAllAvailable) else self.settings.limit
        with ErrorAnnotation():
            found = self._bound(start["last"], most)
        return start if found is None else {"last": found}

    def partitions(self, start: Offset, end: Offset) -> list[Item]:
        if not self.settings.column:
            return [Item(RowRange(None, None).encoded())] if start != end else []
        if start == end:
            return []
        return [Item(RowRange(start["last"], end["last"]).encoded())]

    def read(self, partition: Item) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        yield pa.RecordBatch.from_arrays([pa.array([partition.item])], schema=_SCHEMA)

    def _bound(self, after: Any, most: int | None) -> Any:
        """Returns the greatest value of the column above `after`, or of the next `most` rows."""
        column, table = quote_name(self.settings.column), quote_name(self.settings.table)
        conditions, values = [f"{column} IS NOT NULL"], []
        if after is not None:
            conditions.append(f"{column} > ?")
            values.append(after)
        if self._is_bounded and self._target is not None:
            conditions.append(f"{column} <= ?")
            values.append(self._target)
        rows = f"SELECT {column} AS v FROM {table} WHERE {' AND '.join(conditions)}"
        if most is not None:
            rows += f" ORDER BY {column} LIMIT {most}"
        try:
            uri = f"file:{quote(self.settings.path)}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT)) as connection:
                return connection.execute(f"SELECT max(v) FROM ({rows})", values).fetchone()[0]
        except sqlite3.Error as error:
            raise RunError(
                "MS-RUN-SQLITE-FAILED",
                f"{self.settings.owner}: SQLite reports for {self.settings.path}: {error}.",
                fix="Correct that and run again: the job continues from its checkpoint.",
            ) from None
