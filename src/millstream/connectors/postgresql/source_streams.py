"""Streams the work items of a PostgreSQL source: Spark logs which rows a micro-batch has.

A Python data source for each mode: Spark runs its stream in a process beside the driver and logs
what `latestOffset` returns. An empty offset is before the first micro-batch.

    snapshot      {"pages": "9", "lsn": …, "time": …}       the size of the table
    incremental   {"until": "120000", "lsn": …, "time": …}  the last value that is read
    cdc           {"table": "…", "slot": "…", "lsn": "0/16B3748"}   the table's OID, and the first
                                                            commit that is not read yet; at
                                                            first also "snapshot" and "time"
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.source_items import Item
from millstream.connectors.postgresql.target import Session, Target
from millstream.connectors.python_source import ErrorAnnotation, NamedDataSource
from millstream.connectors.work_items import ITEM

SETTINGS = "settings"
_PAUSE = 0.1  # seconds between two queries for new rows
_SCHEMA = pa.schema([(ITEM, pa.string())])
Offset = dict[str, str]


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What a stream needs; has no secrets, because plans show it.

    Attributes:
        table: The table in SQL, quoted, and its `oid`.
        limit: Rows of a micro-batch at most.
        column: The column of incremental reads in SQL, quoted, and its `type`.
        slot: The name of a new slot. `owns_slot`: no other job uses the name.
    """

    target: Target
    table: str
    oid: int
    limit: int
    column: str = ""
    type: str = ""
    slot: str = ""
    owns_slot: bool = True
    publication: str = ""

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> StreamSettings:
        given = json.loads(text)
        return cls(Target(**given.pop("target")), **given)


@dataclass
class Task(InputPartition):
    """The work item of one task."""

    item: str


class ItemStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What the streams of all modes share."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.session = Session(settings.target)
        self.is_once = False  # only what exists at the start
        self._queried = -float("inf")

    def initialOffset(self) -> Offset:  # noqa: N802
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.settings.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.is_once = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        with ErrorAnnotation():
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            if start and not self.is_once:
                time.sleep(max(0.0, self._queried + _PAUSE - time.monotonic()))
            found = self.next_offset(start, most)
            self._queried = time.monotonic()
            return found

    def partitions(self, start: Offset, end: Offset) -> list[Task]:
        with ErrorAnnotation():
            if start == end:
                return []
            return [Task(item.encoded()) for item in self.items(start, end)]

    def read(self, partition: Task) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        yield pa.RecordBatch.from_arrays([pa.array([partition.item])], schema=_SCHEMA)

    def stop(self) -> None:
        self.session.close()

    def next_offset(self, start: Offset, most: int | None) -> Offset:
        """Returns where the next micro-batch ends; `start` if there is nothing to read."""
        raise NotImplementedError

    def items(self, start: Offset, end: Offset) -> list[Item]:
        """Returns the work items of a micro-batch."""
        raise NotImplementedError


class ItemSource(NamedDataSource):
    stream: ClassVar[type[ItemStream]]

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> ItemStream:  # noqa: ARG002, N802
        return self.stream(StreamSettings.decoded(self.options[SETTINGS]))


def now_and_position(connection: Connection) -> Offset:
    """Returns time and position of rows that are read from now on."""
    row = connection.execute(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"
        " CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
        " ELSE pg_current_wal_insert_lsn() END::text"
    ).fetchone()
    assert row is not None
    return {"time": str(row[0]), "lsn": str(row[1])}
