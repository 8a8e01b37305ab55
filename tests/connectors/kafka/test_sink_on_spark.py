"""A Kafka sink on Spark, with a real broker: every row is written once."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.connectors.kafka.jobs import numbered, source, to_topic
from tests.run.trial import Trial, at
from tests.services.kafka import Kafka

from millstream.cli.dev import kafka_topics
from millstream.errors import RunError

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.timeout(900)]


def messages(kafka: Kafka, topic: str) -> list[tuple[str | None, dict[str, Any] | None]]:
    """Key and value of each message, in the order of their partitions and offsets."""
    found = sorted(
        kafka_topics.read(kafka.address, topic), key=lambda m: (m.partition(), m.offset())
    )
    return [
        (m.key() and m.key().decode(), None if m.value() is None else json.loads(m.value()))
        for m in found
    ]


def test_a_batch_that_is_run_again_is_written_once(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    read, written = kafka.create("again-in"), kafka.create("again-out")
    kafka.write(read, numbered(0, 50))
    select = "SELECT id, n * 2 AS n, map('h', CAST(id AS BINARY)) AS h FROM rows"
    more = {"key_columns": "id", "headers_column": "h"}
    job = source(kafka, read, max_rows_per_batch="20") + to_topic(kafka, written, select, **more)
    trial = Trial(spark, tmp_path, job)
    trial.once()
    trial.forget_last_commit()
    kafka.write(read, numbered(50, 60))
    trial.once()
    found = messages(kafka, written)
    assert sorted(found, key=lambda each: int(each[0][1:])) == [  # type: ignore[index]
        (f"r{number}", {"id": f"r{number}", "n": number * 2}) for number in range(60)
    ]
    first = next(iter(kafka_topics.read(kafka.address, written)))
    assert first.headers() == [("h", first.key())]


def test_a_job_continues_after_its_brokers_were_killed(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    read, written = kafka.create("killed-in"), kafka.create("killed-out")
    kafka.write(read, numbered(0, 50))
    job = source(kafka, read, max_rows_per_batch="20")
    trial = Trial(spark, tmp_path, job + to_topic(kafka, written, "SELECT id, n FROM rows"))
    run = trial.start()
    try:
        run.process_available()
        kafka.node.kill()
        kafka.node.start()
        kafka.write(read, numbered(50, 80))
        run.process_available()
        # While batches run: of some, rows are written and the marker is not.
        kafka.write(read, numbered(80, 300))
        kafka.node.kill()
        restart = threading.Timer(2.0, kafka.node.start)
        restart.start()
        try:
            run.process_available()
        finally:
            restart.join()
        run.process_available()
    finally:
        run.stop()
    found = messages(kafka, written)
    assert sorted(value["n"] for _, value in found if value) == list(range(300))


CHANGES = "SELECT k, COUNT(*) AS n FROM rows GROUP BY k HAVING COUNT(*) < 3 EMIT CHANGES"


@pytest.mark.parametrize(
    ("changelog", "expected"),
    [
        ("upsert", [("a", {"k": "a", "n": 1}), ("a", {"k": "a", "n": 2}), ("a", None)]),
        (
            "debezium",
            [
                ("a", {"before": None, "after": {"k": "a", "n": 1}, "op": "c"}),
                ("a", {"before": {"k": "a", "n": 1}, "after": None, "op": "d"}),
                ("a", {"before": None, "after": {"k": "a", "n": 2}, "op": "c"}),
                ("a", {"before": {"k": "a", "n": 2}, "after": None, "op": "d"}),
            ],
        ),
    ],
)
def test_results_that_change_are_written_as_a_changelog(
    kafka: Kafka, spark: SparkSession, tmp_path: Path, changelog: str, expected: list[Any]
) -> None:
    read, written = kafka.create(f"{changelog}-in", 1), kafka.create(f"{changelog}-out", 1)
    job = source(kafka, read, "k STRING, t TIMESTAMP, WATERMARK FOR t AS t") + to_topic(
        kafka,
        written,
        f"{CHANGES} WITH ('output.mode' = 'retract', 'state.ttl' = 'forever')",
        key_columns="k",
        changelog=changelog,
    )
    trial = Trial(spark, tmp_path, job)
    run = trial.start()
    try:
        for second in range(3):
            kafka.write(read, [json.dumps({"k": "a", "t": at(0, second)})])
            run.process_available()
        if changelog == "upsert":
            kafka.write(read, [json.dumps({"k": None, "t": at(0, 3)})])
            with pytest.raises(RunError, match=r"MS-RUN-KAFKA-KEY.*k, which 'key.columns' names"):
                run.process_available()
    finally:
        run.stop()
    found = messages(kafka, written)
    # The order of one batch's changes of a key is that of the engine's results.
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert found[-1][1] == expected[-1][1]
