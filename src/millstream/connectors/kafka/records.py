"""Reads the records of offset ranges with librdkafka, on executors.

A range ends when the position has passed its end, not after a number of records: compaction and
transaction markers leave gaps.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, TopicPartition

from millstream.connectors.kafka import failures
from millstream.connectors.kafka.client import Client, WaitNotice
from millstream.connectors.kafka.failures import ClientErrors
from millstream.connectors.kafka.librdkafka import new_client
from millstream.connectors.kafka.offsets import OffsetRange

_CHUNK = 20_000  # records that are decoded at once
_WAIT = 0.05  # seconds; records of the range are there, so this is for gaps at its end
_CONSUMERS = 4  # that a worker keeps, with records that they have fetched ahead
_QUERY = 10.0
_LONG = 1.0  # seconds without records, after which the log says that the source waits
_SETTINGS = {
    "group.id": "millstream",  # nothing is committed to it
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.message.max.bytes": 4 << 20,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32 << 10,
}


@dataclass(slots=True)
class PartitionReader:
    """A consumer of one partition. `next` is the offset that it returns next without seeking."""

    client: Client
    topic: str
    partition: int
    next: int = OFFSET_INVALID
    _client_errors: ClientErrors = field(default_factory=ClientErrors)
    _consumer: Any = None

    def read(self, wanted: OffsetRange, *, skip: bool) -> Iterator[list[Any]]:
        """Yields the messages of a range. `skip`: continue with what is left if some were deleted;
        otherwise raise MS-RUN-KAFKA-LOST."""
        position = wanted.start
        if self.next != position:
            self._seek(position)
        self.next = OFFSET_INVALID  # unless this range is read to its end
        heard_at = time.monotonic()
        notice = WaitNotice.of(self.client, self.client.retry)
        while position < wanted.end:
            found = self._consumer.consume(min(_CHUNK, wanted.end - position), _WAIT)
            messages = []
            for message in found:
                if message.error() is None:
                    messages.append(message)
                else:
                    position = max(position, self._after(message, wanted, position, skip=skip))
            if messages:
                position = max(position, messages[-1].offset() + 1)
                inside = messages
                if position > wanted.end:
                    inside = [each for each in messages if each.offset() < wanted.end]
                if inside:
                    yield inside
            if found:
                heard_at = time.monotonic()
            else:
                self._check(heard_at, notice)
        self.next = position

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _after(self, message: Any, wanted: OffsetRange, position: int, *, skip: bool) -> int:
        """The position after an event that is no record."""
        error = message.error()
        if error.code() == KafkaError._PARTITION_EOF:
            return int(message.offset())
        out_of_range = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)
        if error.code() in out_of_range:
            first = self._first()
            if not skip or first is None or first <= position:
                raise failures.lost(self.client, self.topic, self.partition, position, first)
            if first < wanted.end:
                self._seek(first)
            return first
        if failures.is_transient(error):
            return position
        raise failures.meaning(self.client, self.topic, error)

    def _first(self) -> int | None:
        part = TopicPartition(self.topic, self.partition)
        found = self._consumer.get_watermark_offsets(part, _QUERY)
        return None if found is None else int(found[0])

    def _seek(self, offset: int) -> None:
        if self._consumer is None:
            own = {**_SETTINGS, "error_cb": self._client_errors}
            self._consumer = new_client(Consumer, self.client, own)
        self._consumer.assign([TopicPartition(self.topic, self.partition, offset)])

    def _check(self, heard_at: float, notice: WaitNotice) -> None:
        """Raises an error if waiting is in vain."""
        if time.monotonic() - heard_at > _LONG:
            notice.show()
        if rejected := self._client_errors.login_failure():
            raise failures.login_failed(self.client, rejected)
        if time.monotonic() - heard_at > self.client.retry:
            raise failures.unavailable(self.client, self.client.retry, self._client_errors)


_READERS: OrderedDict[tuple[Client, str, int], PartitionReader] = OrderedDict()


def messages_of(client: Client, wanted: OffsetRange, *, skip: bool) -> Iterator[list[Any]]:
    """Yields the messages of a range, by a consumer that this worker keeps for later ranges."""
    key = client, wanted.topic, wanted.partition
    reader = _READERS.pop(key, None) or PartitionReader(client, wanted.topic, wanted.partition)
    try:
        yield from reader.read(wanted, skip=skip)
    except BaseException:
        reader.close()
        raise
    _READERS[key] = reader
    while len(_READERS) > _CONSUMERS:
        _READERS.popitem(last=False)[1].close()
