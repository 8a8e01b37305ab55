"""Streams the offset ranges of a topic: Spark logs which are read when, executors read them.

A Python data source: Spark runs `RangeStream` in a process beside the driver, and logs what
`latestOffset` returns. It yields a row for each work item, never a record.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from millstream.connectors.kafka import failures
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.offsets import (
    OffsetRange,
    Offsets,
    entry,
    limited,
    offsets_of,
    pieces,
    shared_out,
)
from millstream.connectors.kafka.topics import Topic
from millstream.connectors.python_source import ErrorAnnotation, NamedDataSource
from millstream.connectors.work_items import ITEM, PARTITION

SETTINGS = "settings"
_PAUSE = 0.02  # seconds between two requests to the brokers
_SCHEMA = pa.schema([(ITEM, pa.string()), (PARTITION, pa.string())])


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What a stream of ranges needs; has no secrets, because plans show it.

    Attributes:
        tasks: The number of tasks that read a batch, at most.
        limit: Offsets of a batch at most.
        discovery: Seconds between two looks for new partitions.
        start: earliest, latest, or the time in milliseconds, or offsets by partition.
    """

    topic: str
    tasks: int
    limit: int
    discovery: float
    start: str | int | dict[str, int]

    def encoded(self, client: Client) -> str:
        own = [getattr(self, name) for name in self.__slots__]
        return json.dumps([own, [getattr(client, name) for name in client.__slots__]])

    @classmethod
    def decoded(cls, text: str) -> tuple[StreamSettings, Client]:
        own, (owner, settings, *others) = json.loads(text)
        return cls(*own), Client(owner, tuple((name, value) for name, value in settings), *others)


class KafkaRanges(NamedDataSource):
    called: ClassVar[str] = "millstream_kafka"

    def schema(self) -> str:
        return f"{ITEM} string, {PARTITION} string"

    def streamReader(self, schema: StructType) -> RangeStream:  # noqa: ARG002, N802
        return RangeStream(*StreamSettings.decoded(self.options[SETTINGS]))


@dataclass
class Items(InputPartition):
    """The work items of one task."""

    items: list[str]
    partitions: list[str]

    def __init__(self, ranges: list[OffsetRange]) -> None:
        self.items = [each.encoded() for each in ranges]
        self.partitions = [str(each.partition) for each in ranges]


class RangeStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, settings: StreamSettings, client: Client) -> None:
        self.settings = settings
        self.client = client
        self.topic = Topic(client, settings.topic, client.retry)
        self._known: tuple[str, list[int]] = "", []
        self._looked = self._asked = -float("inf")
        self._target: dict[str, str | int] | None = None

    def initialOffset(self) -> dict[str, str | int]:  # noqa: N802
        with ErrorAnnotation():
            topic_id, partitions = self._partitions(fresh=True)
            return entry(topic_id, self._first(partitions))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.settings.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with ErrorAnnotation():
            topic_id, partitions = self._partitions(fresh=True)
            self._target = entry(topic_id, self.topic.ends(partitions))

    def latestOffset(  # noqa: N802
        self, start: dict[str, str | int], limit: ReadLimit
    ) -> dict[str, str | int]:
        with ErrorAnnotation():
            known_id, begin = offsets_of(start)
            topic_id, ends = self._ends()
            if any(ends.get(number, offset) < offset for number, offset in begin.items()):
                topic_id, _ = self._partitions(fresh=True)
            if known_id != topic_id:
                raise failures.recreated(self.client, self.settings.topic)
            begin = _with_new(begin, ends)
            for number, offset in begin.items():
                ends[number] = max(ends.get(number, offset), offset)
            most = None if isinstance(limit, ReadAllAvailable) else self.settings.limit
            return entry(topic_id, limited(begin, ends, most))

    def partitions(self, start: dict[str, str | int], end: dict[str, str | int]) -> list[Items]:
        with ErrorAnnotation():
            (_, begin), (_, last) = offsets_of(start), offsets_of(end)
            items = list(pieces(self.settings.topic, _with_new(begin, last), last))
            return [Items(each) for each in shared_out(items, self.settings.tasks) if each]

    def read(self, partition: Items) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        columns = [pa.array(partition.items), pa.array(partition.partitions)]
        yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)

    def _first(self, partitions: list[int]) -> Offsets:
        start = self.settings.start
        if start == "latest":
            return self.topic.ends(partitions)
        if isinstance(start, int):
            return self.topic.at(partitions, start)
        found = self.topic.begins(partitions)
        if isinstance(start, dict):
            given = {int(name): offset for name, offset in start.items()}
            ends = self.topic.written_ends(partitions)
            for number, offset in given.items():
                if offset > ends.get(number, -1):
                    raise failures.no_offset(
                        self.client, self.settings.topic, number, offset, (found, ends)
                    )
            found |= given
        return found

    def _ends(self) -> tuple[str, Offsets]:
        if self._target is not None:
            return offsets_of(self._target)
        time.sleep(max(0.0, self._asked + _PAUSE - time.monotonic()))
        topic_id, partitions = self._partitions()
        ends = self.topic.ends(partitions)
        self._asked = time.monotonic()
        return topic_id, ends

    def _partitions(self, *, fresh: bool = False) -> tuple[str, list[int]]:
        now = time.monotonic()
        if fresh or now - self._looked >= self.settings.discovery:
            self._known = self.topic.describe()
            self._looked = now
        return self._known


def _with_new(begin: Offsets, end: Offsets) -> Offsets:
    """Returns where partitions begin; new ones at 0, so that a retried batch has the same items."""
    return {number: begin.get(number, 0) for number in end} | begin
