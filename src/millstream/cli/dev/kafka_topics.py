"""Topics and messages of the node of `millstream dev kafka`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from millstream.cli.errors import CommandError

if TYPE_CHECKING:
    from confluent_kafka import Message
    from confluent_kafka.admin import AdminClient

_TIMEOUT = 20.0  # seconds
Pair = tuple[bytes | None, bytes]  # key and value


def admin(address: str) -> AdminClient:
    try:
        from confluent_kafka.admin import AdminClient
    except ImportError:
        raise CommandError(
            "MS-CLI-KAFKA",
            "confluent-kafka is not installed.",
            fix="Run pip install 'millstream[kafka]'.",
        ) from None
    return AdminClient({"bootstrap.servers": address, "log_level": 0})


def create(address: str, topic: str, partitions: int) -> None:
    client = admin(address)
    from confluent_kafka.admin import NewTopic

    _done(client.create_topics([NewTopic(topic, partitions, 1)]))


def delete(address: str, topic: str) -> None:
    client = admin(address)  # ends when nothing refers to it
    _done(client.delete_topics([topic]))


def _done(results: dict[str, Any]) -> None:
    from confluent_kafka import KafkaException

    for topic, result in results.items():
        try:
            result.result(_TIMEOUT)
        except KafkaException as error:
            raise CommandError("MS-CLI-KAFKA", f"topic {topic}: {error.args[0].str()}") from None


def listed(address: str) -> list[dict[str, Any]]:
    """Returns name, number of partitions and number of offsets of each topic."""
    client = admin(address)
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    found = []
    topics = client.list_topics(timeout=_TIMEOUT).topics
    for name in sorted(name for name in topics if not name.startswith("__")):
        parts = [TopicPartition(name, number) for number in topics[name].partitions]
        ends = [
            client.list_offsets(dict.fromkeys(parts, spec), request_timeout=_TIMEOUT)
            for spec in (OffsetSpec.latest(), OffsetSpec.earliest())
        ]
        last, first = (sum(each.result().offset for each in end.values()) for end in ends)
        found.append({"name": name, "partitions": len(parts), "offsets": last - first})
    return found


def messages(text: bytes, key_field: str, separator: str) -> Iterator[Pair]:
    """Key and value of each line that is not empty."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        key, value = None, line
        if separator:
            key, found, value = line.partition(separator.encode())
            key, value = (key, value) if found else (None, line)
        elif key_field:
            key = _field(line, key_field, number)
        yield key, value


def _field(line: bytes, name: str, number: int) -> bytes:
    try:
        value = json.loads(line)[name]
    except (ValueError, KeyError, TypeError):
        raise CommandError(
            "MS-CLI-KAFKA", f"line {number} is not a JSON object with the field {name}."
        ) from None
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def write(address: str, topic: str, pairs: Iterable[Pair]) -> int:
    """Writes messages, and returns how many."""
    _must_exist(address, topic)
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "log_level": 0})
    count = 0
    for key, value in pairs:
        while True:
            try:
                producer.produce(topic, value=value, key=key)
                break
            except BufferError:
                producer.poll(0.1)
        count += 1
    if left := producer.flush(_TIMEOUT):
        raise CommandError("MS-CLI-KAFKA", f"{left} messages could not be written to {topic}.")
    return count


def read(address: str, topic: str, limit: int | None = None) -> Iterator[Message]:
    """Yields the committed messages of a topic up to its present end."""
    partitions = _must_exist(address, topic)
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "millstream-dev",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        ended: set[int] = set()
        count = 0
        while len(ended) < len(partitions) and (limit is None or count < limit):
            for message in consumer.consume(1000, 1.0):
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    ended.add(message.partition())
                elif error is not None:
                    raise CommandError("MS-CLI-KAFKA", f"topic {topic}: {error.str()}")
                elif limit is None or count < limit:
                    count += 1
                    yield message
    finally:
        consumer.close()


def _must_exist(address: str, topic: str) -> list[int]:
    topics = admin(address).list_topics(timeout=_TIMEOUT).topics
    if topic not in topics:
        raise CommandError(
            "MS-CLI-KAFKA",
            f"there is no topic {topic}.",
            fix=f"Create it with millstream dev kafka topics --create {topic}.",
        )
    return list(topics[topic].partitions)


def line(message: Message, *, as_json: bool) -> str:
    value, key = _text(message.value()), _text(message.key())
    if not as_json:
        return f"{key}\t{value or ''}" if key is not None else (value or "")
    headers = {name: _text(found) for name, found in message.headers() or []}
    shown = {"partition": message.partition(), "offset": message.offset(), "key": key}
    return json.dumps({**shown, "value": value, "headers": headers}, ensure_ascii=False)


def _text(data: bytes | str | None) -> str | None:
    return data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
