"""A Kafka node of its own for tests, as `millstream dev kafka up` starts it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.services.ports import free_port

from millstream.cli.dev import kafka_topics
from millstream.cli.dev.kafka_node import KafkaNode

Header = tuple[str, bytes]
_SETTINGS = {"log.cleaner.backoff.ms": "200"}  # compacts soon


@dataclass(frozen=True, slots=True)
class Kafka:
    """A node, and short ways to write and read its topics."""

    node: KafkaNode

    @property
    def address(self) -> str:
        return self.node.address

    def create(self, topic: str, partitions: int = 2, **settings: str) -> str:
        from confluent_kafka.admin import NewTopic

        new = NewTopic(topic, partitions, 1, config=settings)
        admin = kafka_topics.admin(self.address)
        for result in admin.create_topics([new]).values():
            result.result(30)
        until = time.monotonic() + 30  # brokers learn of it a moment later
        while topic not in admin.list_topics(timeout=30).topics and time.monotonic() < until:
            time.sleep(0.1)
        return topic

    def delete(self, topic: str) -> None:
        kafka_topics.delete(self.address, topic)

    def write(
        self,
        topic: str,
        values: Iterable[str | bytes | None],
        *,
        partition: int = -1,
        keys: Iterable[str | None] | None = None,
        headers: list[Header] | None = None,
        timestamp: int = 0,
    ) -> None:
        """`timestamp`: in milliseconds; 0: now."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        given = list(values)
        for value, key in zip(given, keys or [None] * len(given), strict=True):
            producer.produce(
                topic, value, key, partition, timestamp=timestamp, headers=headers or []
            )
            producer.poll(0)
        assert producer.flush(30) == 0

    def values(self, topic: str) -> list[str | None]:
        """The committed values of a topic, in the order of their text."""
        found = [message.value() for message in kafka_topics.read(self.address, topic)]
        texts = [None if value is None else bytes(value).decode() for value in found]
        return sorted(texts, key=lambda text: (text is not None, text))


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """One node for all tests. A test that stops it starts it again."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-kafka-"))
    node = KafkaNode(folder / "node", free_port(), free_port(), settings=_SETTINGS)
    try:
        node.start()
        yield Kafka(node)
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)
