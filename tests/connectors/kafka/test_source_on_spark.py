"""A Kafka source on Spark, with a real broker: every record is read once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions
from pyspark.sql import SparkSession
from tests.connectors.kafka.jobs import ids, numbered, source, to_files
from tests.run.trial import Trial, at
from tests.services.kafka import Kafka

from millstream.cli.dev import kafka_topics

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.timeout(900)]


def test_rows_have_the_columns_of_their_records(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic = kafka.create("columns", 1)
    kafka.write(
        topic,
        ['{"id":"a","n":1}', "{", None],
        keys=["k", None, "t"],
        headers=[("h", b"1")],
        timestamp=1_768_435_200_000,
    )
    select = (
        "SELECT id, _offset + 0 AS o, _PARTITION AS p, _timestamp AS t, "
        "CAST(_key AS STRING) AS k, CAST(_headers['h'] AS STRING) AS h FROM rows"
    )
    job = "CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');\n"
    read = source(kafka, topic).replace(");\n", ", 'dead_letter.sink' = 'bad');\n")
    trial = Trial(spark, tmp_path, job + read + to_files(select))
    counted = trial.once()
    assert trial.read("out") == [
        {"id": "a", "o": 0, "p": 0, "t": "2026-01-15T00:00:00.000000Z", "k": "k", "h": "1"}
    ]
    assert [(row["_file"], row["_raw"]) for row in trial.read("bad")] == [
        ("columns, partition 0, offset 1", "{"),
        ("columns, partition 0, offset 2", None),
    ]
    assert counted.balanced
    assert [(each["in"], each["malformed"]) for each in counted.inputs] == [(3, 2)]


def test_batches_are_limited_and_a_restart_continues(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic = kafka.create("limited", 3)
    kafka.write(topic, numbered(0, 100))
    job = source(kafka, topic, max_rows_per_batch="40") + to_files("SELECT id, n FROM rows")
    trial = Trial(spark, tmp_path, job)
    trial.once()
    assert ids(trial.read("out")) == list(range(100))
    assert len({path.name[:6] for path in (tmp_path / "out").iterdir()}) >= 3
    kafka.write(topic, numbered(100, 130))
    trial.forget_last_commit()
    trial.once()
    assert ids(trial.read("out")) == list(range(130))


def test_a_join_has_the_watermark_of_the_slowest_partition(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    columns = "k STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS"
    orders, shipments = kafka.create("joined-orders"), kafka.create("joined-shipments")

    def rows(*times: str) -> list[str]:
        return [json.dumps({"k": "a", "t": time}) for time in times]

    job = (
        source(kafka, orders, columns, "orders")
        + source(kafka, shipments, columns, "shipments")
        + to_files(
            "SELECT o.k, o.t AS ordered, o._offset AS o, s._partition AS p FROM orders o "
            "JOIN shipments s ON o.k = s.k AND s.t BETWEEN o.t AND o.t + INTERVAL 1 MINUTE "
            "WITH ('late.policy' = 'side_output')"
        )
    )
    trial = Trial(spark, tmp_path, job)
    kafka.write(orders, rows(at(30)), partition=0)
    kafka.write(orders, rows(at(0)), partition=1)
    run = trial.start()
    try:
        run.process_available()
        # Partition 0 is half an hour ahead; rows of partition 1 are not late.
        kafka.write(orders, rows(at(1)), partition=1)
        kafka.write(shipments, rows(at(1, 30)), partition=1)
        run.process_available()
        run.flush()
    finally:
        run.stop()
    assert trial.read("out") == [
        {"k": "a", "ordered": "2026-01-15T10:01:00.000000Z", "o": 1, "p": 1}
    ]


def test_records_of_open_transactions_are_not_read_and_markers_leave_no_gap(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic = kafka.create("transactions", 1)
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": "test"})
    producer.init_transactions(30)

    def transaction(first: int, end: int) -> None:
        producer.begin_transaction()
        for value in numbered(first, end):
            producer.produce(topic, value)
        producer.flush(30)

    transaction(0, 10)
    producer.commit_transaction(30)
    transaction(10, 20)
    producer.abort_transaction(30)
    transaction(20, 30)
    producer.commit_transaction(30)
    transaction(30, 40)
    job = source(kafka, topic, max_rows_per_batch="7") + to_files("SELECT id, n FROM rows")
    trial = Trial(spark, tmp_path, job)
    trial.once()
    assert ids(trial.read("out")) == [*range(10), *range(20, 30)]
    producer.commit_transaction(30)
    trial.once()
    assert ids(trial.read("out")) == [*range(10), *range(20, 40)]


def test_a_new_partition_is_read_from_its_beginning(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    topic = kafka.create("growing", 1)
    kafka.write(topic, numbered(0, 5))
    job = source(kafka, topic, partition_discovery="1s", start="latest")
    trial = Trial(spark, tmp_path, job + to_files("SELECT id, n FROM rows"))
    run = trial.start()
    try:
        run.process_available()
        kafka.write(topic, numbered(5, 10))
        admin = kafka_topics.admin(kafka.address)
        for result in admin.create_partitions([NewPartitions(topic, 2)]).values():
            result.result(30)
        kafka.write(topic, numbered(10, 15), partition=1)
        for _ in range(200):
            run.process_available()
            if len(trial.read("out")) == 10:
                break
            run.wait(0.1)
    finally:
        run.stop()
    assert ids(trial.read("out")) == list(range(5, 15))


def test_columns_of_records_are_keys_of_joins_and_groups(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    first, second = kafka.create("keyed-first", 2), kafka.create("keyed-second", 2)
    columns = "id STRING, t TIMESTAMP, WATERMARK FOR t AS t"
    for topic, prefix in ((first, "a"), (second, "b")):
        for partition, count in ((0, 3), (1, 2)):
            rows = (json.dumps({"id": f"{prefix}{n}", "t": at(0)}) for n in range(count))
            kafka.write(topic, rows, partition=partition)
    joined = (
        "SELECT f.id, s.id AS other, f._PARTITION AS p FROM f JOIN s "
        "ON f._PARTITION = s._PARTITION AND f._OFFSET = s._OFFSET "
        "AND s.t BETWEEN f.t AND f.t + INTERVAL 1 MINUTE"
    )
    counted = (
        "SELECT _PARTITION, COUNT(*) AS n, MAX(_OFFSET) AS last FROM f GROUP BY _PARTITION "
        "EMIT CHANGES WITH ('state.ttl' = 'forever')"
    )
    job = source(kafka, first, columns, "f") + source(kafka, second, columns, "s")
    # The same rows by Spark's own join, which reads them as rows.
    native = f"{joined} WITH ('engine' = 'native')"
    for name, select in (("out", joined), ("native", native), ("counts", counted)):
        job += to_files(select).replace("SINK out", f"SINK {name}").replace("'out'", f"'{name}'")
    trial = Trial(spark, tmp_path, job)
    run = trial.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    pairs = [(f"a{n}", f"b{n}", p) for p, count in ((0, 3), (1, 2)) for n in range(count)]
    for name in ("out", "native"):
        assert sorted(tuple(row.values()) for row in trial.read(name)) == sorted(pairs)
    assert sorted(tuple(row.values()) for row in trial.read("counts")) == [
        (0, 3, 2, "+I"),
        (1, 2, 1, "+I"),
    ]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ({"start": "earliest"}, [0, 1, 2, 3]),
        ({"start": "latest"}, []),
        ({"start": "timestamp", "start_timestamp": "2026-01-15T00:00:01Z"}, [2, 3]),
        ({"start": "offsets", "start_offsets": "0:1"}, [1, 2, 3]),
    ],
    ids=["earliest", "latest", "timestamp", "offsets"],
)
def test_a_new_checkpoint_starts_where_the_job_says(
    kafka: Kafka, spark: SparkSession, tmp_path: Path, start: dict[str, str], expected: list[int]
) -> None:
    topic = kafka.create(f"start-{start['start']}", 1)
    for number in range(4):
        time = 1_768_435_200_000 + number // 2 * 1000
        kafka.write(topic, numbered(number, number + 1), timestamp=time)
    job = source(kafka, topic, **start) + to_files("SELECT id, n FROM rows")
    trial = Trial(spark, tmp_path, job)
    trial.once()
    assert ids(trial.read("out")) == expected
