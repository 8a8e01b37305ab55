"""Avro and Protobuf values from a topic to a topic, with a real broker and a schema registry."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.connectors.kafka.formats.records import avro, avro_schema, protobuf
from tests.connectors.kafka.jobs import source, to_files, to_topic
from tests.run.trial import Trial, at
from tests.services.kafka import Kafka
from tests.services.registry import RegistryNode

from millstream.connectors.kafka.formats.protobuf_schema import compile_text
from millstream.connectors.kafka.formats.registry import RegisteredSchema, Registry
from millstream.connectors.kafka.formats.wire_format import prefix_of

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.timeout(900)]
TIME = {"type": "long", "logicalType": "timestamp-millis"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
MILLIS = 1_768_471_200_000  # 10:00 on the day of trials
COLUMNS = "id STRING, n BIGINT, note STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS"
BAD = "CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');\n"
JOIN = (
    "SELECT o.id, o.n, o.note, s.carrier, o.t FROM orders o LEFT JOIN shipments s ON o.id = s.id "
    "AND s.t BETWEEN o.t AND o.t + INTERVAL 1 MINUTE"
)
PROTO = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Shipment { string id = 1; string carrier = 2; google.protobuf.Timestamp t = 3; }
"""


def test_a_join_of_avro_and_protobuf_is_written_as_avro(
    kafka: Kafka, registry: RegistryNode, spark: SparkSession, tmp_path: Path
) -> None:
    orders, shipments = kafka.create("avro-orders", 2), kafka.create("protobuf-shipments", 1)
    joined = kafka.create("avro-joined", 1)
    known = Registry("test", registry.url, retry=20.0)
    old = avro_schema(("id", "string"), ("n", "int"), ("t", TIME))
    new = json.dumps({**json.loads(old), "fields": [*json.loads(old)["fields"], NOTE]})
    ids = [known.register("avro-orders-value", RegisteredSchema(each)) for each in (old, new)]
    first, second = (
        prefix_of(number) + avro(schema, {"id": name, "n": n, "t": MILLIS, "note": "x"})
        for number, schema, name, n in ((ids[0], old, "a", 1), (ids[1], new, "b", 2))
    )
    kafka.write(orders, [first, second, b"\x01wrong", second[:-1], b""], partition=0)
    kafka.write(orders, [first[:5] + avro(old, {"id": "c", "n": 3, "t": MILLIS})], partition=1)
    schema = compile_text(PROTO).named("Shipment")
    message = protobuf(schema, id="b", carrier="ship", t={"seconds": MILLIS // 1000 + 30})
    kafka.write(shipments, [message, b"\xff"])
    (tmp_path / "shipment.proto").write_text(PROTO)
    more = {"dead_letter.sink": "bad"}
    job = (
        BAD
        + source(
            kafka,
            orders,
            COLUMNS,
            "orders",
            format="avro",
            schema_registry_url=registry.url,
            **more,
        )
        + source(
            kafka,
            shipments,
            "id STRING, carrier STRING, t TIMESTAMP, WATERMARK FOR t AS t",
            "shipments",
            format="protobuf",
            protobuf_schema_file="shipment.proto",
            **more,
        )
        + to_topic(kafka, joined, JOIN, format="avro", schema_registry_url=registry.url)
    )
    trial = Trial(spark, tmp_path, job)
    counted = trial.flushed()
    assert counted.balanced
    assert sorted((each["in"], each["malformed"]) for each in counted.inputs) == [(2, 1), (6, 3)]
    assert sorted(base64.b64decode(row["_raw"] or "") for row in trial.read("bad")) == sorted(
        [b"\x01wrong", second[:-1], b"", b"\xff"]
    )
    # What the sink has registered and written is read with the schema of its subject.
    again = source(
        *(kafka, joined, "id STRING, n BIGINT, note STRING, carrier STRING, t TIMESTAMP"),
        format="avro",
        schema_registry_url=registry.url,
    )
    reading = Trial(spark, tmp_path / "again", again + to_files("SELECT * FROM rows"))
    reading.once()
    time = at(0).replace("Z", ".000000Z")
    expected = [
        {"id": "a", "n": 1, "note": None, "carrier": None, "t": time},
        {"id": "b", "n": 2, "note": "x", "carrier": "ship", "t": time},
        {"id": "c", "n": 3, "note": None, "carrier": None, "t": time},
    ]
    assert sorted(reading.read("out"), key=lambda row: row["id"]) == expected


def test_results_that_change_are_written_in_all_formats(
    kafka: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    """Upserts in Protobuf and an envelope in Avro, each with a schema in the job, and no prefix."""
    read = kafka.create("formats-in", 1)
    upserts, envelopes = kafka.create("formats-upserts", 1), kafka.create("formats-envelopes", 1)
    changes = "SELECT k, COUNT(*) AS n FROM rows GROUP BY k HAVING COUNT(*) < 2 EMIT CHANGES WITH "
    (tmp_path / "count.proto").write_text(
        'syntax = "proto3"; message C { string k = 1; int64 n = 2; }'
    )
    job = source(kafka, read, "k STRING, t TIMESTAMP, WATERMARK FOR t AS t") + (
        to_topic(
            *(kafka, upserts, changes + "('output.mode' = 'upsert', 'state.ttl' = 'forever')"),
            key_columns="k",
            format="protobuf",
            protobuf_schema_file="count.proto",
        )
        + to_topic(
            *(kafka, envelopes, changes + "('output.mode' = 'retract', 'state.ttl' = 'forever')"),
            key_columns="k",
            format="avro",
            avro_schema=ENVELOPE,
            changelog="debezium",
        ).replace("SINK out", "SINK envelopes")
    )
    trial = Trial(spark, tmp_path, job)
    run = trial.start()
    try:
        for _ in range(2):
            kafka.write(read, [json.dumps({"k": "a", "t": at(0)})])
            run.process_available()
    finally:
        run.stop()
    job = source(
        *(kafka, upserts, "k STRING, n BIGINT", "upserts"),
        format="protobuf",
        protobuf_schema_file="../count.proto",
    ) + to_files("SELECT k, n, CAST(_key AS STRING) AS key FROM upserts")
    side = "STRUCT<k: STRING, n: BIGINT>"
    job += source(
        *(kafka, envelopes, f"before {side}, after {side}, op STRING", "envelopes"),
        format="avro",
        avro_schema=ENVELOPE,
    ) + to_files("SELECT * FROM envelopes").replace("SINK out", "SINK more").replace(
        "'out'", "'more'"
    )
    reading = Trial(spark, tmp_path / "again", job)
    (tmp_path / "again").mkdir()
    run = reading.start(once=True)
    try:
        while not run.wait(30):
            pass
    finally:
        run.stop()
    assert reading.read("out") == [{"k": "a", "n": 1, "key": "a"}]
    assert reading.read("more") == [
        {"before": None, "after": {"k": "a", "n": 1}, "op": "c"},
        {"before": {"k": "a", "n": 1}, "after": None, "op": "d"},
    ]


COUNT = [{"name": name, "type": ["null", kind]} for name, kind in (("k", "string"), ("n", "long"))]
ENVELOPE = avro_schema(
    ("before", ["null", {"type": "record", "name": "C", "fields": COUNT}]),
    ("after", ["null", "C"]),
    ("op", ["null", "string"]),
)
