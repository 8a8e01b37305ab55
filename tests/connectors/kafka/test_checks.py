"""Wrong properties of Kafka are rejected when a job is planned; secrets are never in its text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from millstream.connectors.kafka.opening import open_sink
from millstream.errors import MillstreamError, RunError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import SinkDef
from millstream.plan.nodes.traversal import sources_of

SINK = "CREATE SINK out WITH ('connector' = 'noop') AS SELECT k FROM a;"


def rejected(sql: str) -> str:
    with pytest.raises(MillstreamError) as error:
        build_job(sql)
    return str(error.value)


def source(*properties: str) -> str:
    given = ("'connector' = 'kafka'", "'topic' = 't'", "'bootstrap.servers' = 'h:1'", *properties)
    return f"CREATE SOURCE a (k STRING) WITH ({', '.join(given)});\n{SINK}"


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (("'start' = 'timestamp'",), "does not say its 'start.timestamp', which 'kafka' needs."),
        (("'start' = 'timestamp'", "'start.timestamp' = 'monday'"), "cannot be 'monday'."),
        (("'start' = 'offsets'", "'start.offsets' = '0-1'"), "Write it as '0:42,1:300'."),
        (("'start.offsets' = '0:1'",), "applies to 'start' = 'offsets', and 'start' is 'earliest'"),
        (("'sasl.password.env' = 'PW'",), "does not say its 'sasl.username'"),
        (("'kafka.sasl.password' = 'x'",), "MS-PROP-KAFKA"),
        (("'kafka.sasl.password' = 'x'",), "is a secret, which the text of a job must not have."),
        (("'kafka.isolation.level' = 'x'",), "is set by Millstream, because its guarantees"),
        (("'delimiter' = ';'",), "applies to the format csv, and the format of the source a is"),
    ],
)
def test_a_property_that_contradicts_another_is_rejected(
    properties: tuple[str, ...], error: str
) -> None:
    assert error in rejected(source(*properties))


def test_a_topic_of_upserts_needs_keys() -> None:
    sql = (
        "CREATE SOURCE a (k STRING, t TIMESTAMP, WATERMARK FOR t AS t);\n"
        "CREATE SINK out WITH ('connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'h:1'"
        "{more}) AS SELECT k, COUNT(*) AS n FROM a GROUP BY k EMIT CHANGES "
        "WITH ('output.mode' = 'upsert', 'state.ttl' = 'forever');"
    )
    assert "a topic of upserts needs keys. Add 'key.columns' = '…'" in rejected(sql.format(more=""))
    assert "names the column j, which its query does not give" in rejected(
        sql.format(more=", 'key.columns' = 'j'")
    )
    assert build_job(sql.format(more=", 'key.columns' = 'k'")).sink("out") is not None


def test_settings_of_librdkafka_pass_through() -> None:
    job = build_job(source("'kafka.fetch.max.bytes' = '1000'", "'sasl.username' = 'me'"))
    (read,) = sources_of(job.pipelines[0].root)
    assert read.option("kafka.fetch.max.bytes") == "1000"


def test_a_job_that_uses_kafka_needs_confluent_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(RunError) as error:
        open_sink(SinkDef("out", "kafka"), Path())
    assert str(error.value) == (
        "MS-RUN-KAFKA-DRIVER: sink out is in Kafka, and confluent-kafka is not installed. Add it: "
        "pip install 'millstream[kafka]'."
    )
