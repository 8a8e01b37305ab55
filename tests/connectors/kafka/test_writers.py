"""Tasks write a batch once, whatever happens to their attempts."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.services.kafka import Kafka

from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.markers import DONE, Marker
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.writers import HEADERS, IS_UPSERT, KEY, VALUE, KafkaOpener
from millstream.connectors.sink import BatchId, TaskId
from millstream.errors import RunError
from millstream.plan.nodes import SinkDef

pytestmark = pytest.mark.service


def opener(kafka: Kafka, topic: str, *, exactly_once: bool = True) -> KafkaOpener:
    client = Client("sink out", (("bootstrap.servers", kafka.address),), retry=20.0)
    return KafkaOpener(client, topic, exactly_once)


def batch(number: int, checkpoint: str | None = None) -> BatchId:
    return BatchId(checkpoint or str(uuid.uuid4()), "query", "main", number)


def rows(*values: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({VALUE: pa.array(values, pa.string())})


def test_a_task_that_is_repeated_writes_nothing(kafka: Kafka) -> None:
    topic = kafka.create("repeated")
    first, following = batch(0, "c"), batch(1, "c")
    for attempt, each in enumerate([first, first, following, following]):
        writer = opener(kafka, topic).open(TaskId(each, 0, attempt))
        writer.write(rows(f"batch {each.batch}"))
        assert writer.close() == {"rows": 1}
    other = opener(kafka, topic).open(TaskId(first, 17))
    other.write(rows("of another task"))
    other.close()
    assert kafka.values(topic) == ["batch 0", "batch 1", "of another task"]


def test_an_attempt_that_still_runs_is_fenced(kafka: Kafka) -> None:
    topic = kafka.create("fenced")
    each = batch(0)
    zombie = opener(kafka, topic).open(TaskId(each, 0, 0))
    zombie.write(rows("zombie"))
    writer = opener(kafka, topic).open(TaskId(each, 0, 1))
    writer.write(rows("attempt 1"))
    with pytest.raises(RunError, match="MS-RUN-KAFKA-CONNECT"):
        zombie.close()
    writer.close()
    assert kafka.values(topic) == ["attempt 1"]


def test_an_aborted_attempt_leaves_nothing(kafka: Kafka) -> None:
    topic = kafka.create("aborted")
    each = batch(0)
    writer = opener(kafka, topic).open(TaskId(each, 0, 0))
    writer.write(rows("aborted"))
    writer.abort()
    again = opener(kafka, topic).open(TaskId(each, 0, 1))
    again.write(rows("written"))
    again.close()
    assert kafka.values(topic) == ["written"]


def test_many_rows_are_written_through_a_queue_that_is_full(kafka: Kafka) -> None:
    topic = kafka.create("many")
    settings = (
        ("bootstrap.servers", kafka.address),
        ("queue.buffering.max.messages", "2000"),
    )
    given = KafkaOpener(Client("sink out", settings), topic, exactly_once=True)
    writer = given.open(TaskId(batch(0), 0))
    values = [f"{number:06d}" for number in range(30_000)]
    writer.write(rows(*values))
    writer.close()
    assert kafka.values(topic) == values


def test_at_least_once_writes_keys_headers_and_tombstones(kafka: Kafka) -> None:
    from millstream.cli.dev import kafka_topics

    topic = kafka.create("at-least-once", 1)
    writer = opener(kafka, topic, exactly_once=False).open(TaskId(batch(0), 0))
    headers = pa.array([[("h", b"1")], None], pa.map_(pa.string(), pa.binary()))
    columns = {VALUE: pa.array(["a", None]), KEY: pa.array(["k", "l"]), HEADERS: headers}
    writer.write(pa.RecordBatch.from_pydict(columns))
    writer.close()
    found = [
        (message.key(), message.value(), message.headers())
        for message in kafka_topics.read(kafka.address, topic)
    ]
    assert found == [(b"k", b"a", [("h", b"1")]), (b"l", None, None)]


def changes(rows: list[tuple[str | None, str | None]], *, upsert: bool) -> pa.RecordBatch:
    """Rows that change, with a key and a value each."""
    columns = {KEY: [key for key, _ in rows], VALUE: [value for _, value in rows]}
    arrays = [pa.array(each, pa.string()) for each in columns.values()]
    marks = pa.array([upsert] * len(rows), pa.bool_())
    return pa.RecordBatch.from_arrays([*arrays, marks], [*columns, IS_UPSERT])


def test_a_batch_writes_the_last_change_of_a_key(kafka: Kafka) -> None:
    from millstream.cli.dev import kafka_topics

    def written(topic: str, *, upsert: bool) -> list[tuple[bytes, bytes | None]]:
        writer = opener(kafka, topic).open(TaskId(batch(0), 0))
        writer.write(changes([("a", None), ("a", "1"), ("b", "2"), ("", None)], upsert=upsert))
        writer.write(changes([("b", None), ("a", None), ("a", "3"), ("", "4")], upsert=upsert))
        assert writer.close() == {"rows": 8}
        found = kafka_topics.read(kafka.address, topic)
        return [(message.key(), message.value()) for message in found]

    upserts = written(kafka.create("last-changes", 1), upsert=True)
    assert upserts == [(b"b", None), (b"a", b"3"), (b"", b"4")]
    assert len(written(kafka.create("all-changes", 1), upsert=False)) == 8


def test_a_change_needs_a_key(kafka: Kafka) -> None:
    topic = kafka.create("no-keys", 4)
    given = replace(opener(kafka, topic), keys="owner")
    for upsert in (True, False):
        writer = given.open(TaskId(batch(0), 0))
        with pytest.raises(RunError) as error:
            writer.write(changes([("a", "1"), (None, None), (None, "2")], upsert=upsert))
        writer.abort()
        assert error.value.code == "MS-RUN-KAFKA-KEY"
        assert "owner, which 'key.columns' names, is NULL in a result" in error.value.cause
        assert "COALESCE(owner, …)" in error.value.fix
    assert kafka.values(topic) == []


def test_late_rows_and_dead_letters_are_json(kafka: Kafka) -> None:
    topic = kafka.create("letters", 1)
    writer = opener(kafka, topic).open(TaskId(batch(0), 0))
    writer.write(pa.RecordBatch.from_pydict({"k": ["a"], "_lateness_ms": [5]}))
    writer.close()
    assert kafka.values(topic) == ['{"k":"a","_lateness_ms":5}']


def test_the_driver_knows_whether_markers_are_there(kafka: Kafka) -> None:
    topic = kafka.create("marked")
    client = Client("sink out", (("bootstrap.servers", kafka.address),))
    marker = Marker(client, topic, "writer", DONE)
    assert marker.next_batch() is None
    marker.commit(4)
    marker.close()
    assert Marker(client, topic, "writer", DONE).next_batch() == 5


def test_a_batch_that_may_have_been_written_is_not_written_again(kafka: Kafka) -> None:
    topic = kafka.create("expired")
    given = (("bootstrap.servers", kafka.address), ("topic", topic))

    def sink(**more: str) -> KafkaSink:
        return KafkaSink.opened(SinkDef("out", "kafka", (*given, *more.items())), Path())

    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-MARKER.*whether batch 5 was written"):
        sink().begin(batch(5))
    assert sink(**{"on.expired.marker": "write"}).begin(batch(5)) is not None
    each = batch(0)
    first = sink()
    assert first.begin(each) is not None
    first.commit(each, [])
    assert sink().begin(batch(1, each.checkpoint)) is not None
