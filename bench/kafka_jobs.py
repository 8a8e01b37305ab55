"""Kafka: an interval join of topics next to the same join of Parquet files, and the sink."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.services.kafka import Kafka
from tests.services.ports import free_port

from bench.data import write
from bench.job_batches import batch_seconds
from millstream.cli.dev.kafka_node import KafkaNode

FILES, PARTITIONS = 8, 4  # a micro-batch reads a file, or as many messages of each topic
_COLUMNS = {
    "orders": "order_id BIGINT, customer_id BIGINT, amount DOUBLE, event_time TIMESTAMP",
    "shipments": "order_id BIGINT, shipment_id BIGINT, carrier STRING, event_time TIMESTAMP",
}
_SOURCE = """CREATE SOURCE {name} ({columns},
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS) WITH ({properties});
"""
_JOIN = """CREATE SINK joined WITH ('connector' = 'noop') AS
SELECT o.order_id, o.amount, s.carrier FROM orders o JOIN shipments s ON o.order_id = s.order_id
  AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 MINUTE;
"""
_COPY = """CREATE SINK copied WITH ({properties}) AS
SELECT order_id, customer_id, amount, event_time FROM orders;
"""


def run(rows: int, rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Returns rows per second of micro-batches, after the first one of each job."""
    from millstream.engine.runtime.session import local_session

    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as name:
        folder = Path(name)
        written = write(folder / "data", rows, FILES)
        node = KafkaNode(folder / "node", free_port(), free_port())
        node.start()
        spark = local_session()
        try:
            kafka = Kafka(node)
            counts = {topic: _produce(kafka, folder / "data" / topic, say) for topic in _COLUMNS}
            jobs = _jobs(kafka, counts)
            sizes = {"join": written.rows, "sink": counts["orders"]}
            found: list[dict[str, Any]] = []
            for number in range(rounds):
                for kind, sql in jobs.items():
                    say(f"{kind}, round {number + 1}")
                    checkpoint = folder / f"checkpoint-{number}-{len(found)}"
                    topic = kafka.create(f"copied-{number}-{len(found)}", PARTITIONS)
                    seconds = batch_seconds(
                        spark, sql.replace("COPIED", topic), checkpoint, folder / "data"
                    )
                    steady = sizes[kind[:4]] * (FILES - 1) / FILES
                    rate = round(steady / sum(seconds[1:]))
                    found.append({"kind": kind, "round": number + 1, "rows_per_second": rate})
            return found
        finally:
            spark.stop()
            node.remove()


def _jobs(kafka: Kafka, counts: dict[str, int]) -> dict[str, str]:
    """Returns the SQL of each job by its name."""
    files = {name: _from_files(name) for name in _COLUMNS}
    topics = "".join(_from_topic(kafka, name, counts[name]) for name in _COLUMNS)
    return {
        "join of Parquet files": "".join(files.values()) + _JOIN,
        "join of topics": topics + _JOIN,
        "sink, exactly once": files["orders"] + _to_topic(kafka, "exactly_once"),
        "sink, at least once": files["orders"] + _to_topic(kafka, "at_least_once"),
    }


def _from_files(name: str) -> str:
    properties = (
        f"'connector' = 'file', 'path' = '{name}', 'format' = 'parquet', "
        "'max.files.per.batch' = '1'"
    )
    return _SOURCE.format(name=name, columns=_COLUMNS[name], properties=properties)


def _from_topic(kafka: Kafka, name: str, rows: int) -> str:
    properties = (
        f"'connector' = 'kafka', 'bootstrap.servers' = '{kafka.address}', 'topic' = '{name}', "
        f"'max.rows.per.batch' = '{-(-rows // FILES)}'"
    )
    return _SOURCE.format(name=name, columns=_COLUMNS[name], properties=properties)


def _to_topic(kafka: Kafka, delivery: str) -> str:
    properties = (
        f"'connector' = 'kafka', 'bootstrap.servers' = '{kafka.address}', 'topic' = 'COPIED', "
        f"'delivery' = '{delivery}'"
    )
    return _COPY.format(properties=properties)


def _produce(kafka: Kafka, folder: Path, say: Callable[[str], None]) -> int:
    """Writes the rows of a folder to the topic of its name, and returns how many."""
    from confluent_kafka import Producer

    topic = kafka.create(folder.name, PARTITIONS)
    producer = Producer({"bootstrap.servers": kafka.address, "linger.ms": 50})
    number = 0
    for file in sorted(folder.glob("*.parquet")):
        for row in pq.read_table(file).to_pylist():
            row["event_time"] = row["event_time"].isoformat() + "Z"
            while True:
                try:
                    producer.produce(topic, json.dumps(row), partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
            number += 1
        producer.poll(0)
    assert producer.flush(120) == 0
    say(f"{number:,} messages of {topic}")
    return number
