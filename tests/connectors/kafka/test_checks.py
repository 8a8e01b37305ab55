"""Wrong properties of Kafka are rejected when a job is planned; secrets are never in its text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.connectors.kafka.opening import open_sink
from millstream.errors import MillstreamError, RunError
from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain
from millstream.plan.nodes import SinkDef
from millstream.plan.nodes.traversal import inputs_of, operators_of, sources_of

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
        (
            ("'format' = 'avro'",),
            "values in avro need a schema, and a names none. Add 'avro.schema.",
        ),
        (("'format' = 'protobuf'", "'avro.schema' = '{}'"), "applies to the format avro, and the"),
        (
            ("'format' = 'avro'", "'avro.schema' = '{}'", "'avro.schema.file' = 'x'"),
            "the schema of a is given twice.",
        ),
        (
            ("'format' = 'avro'", "'avro.schema' = '{}'", "'schema.registry.url' = 'http://r:1'"),
            "a reads its schemas from the registry, so 'avro.schema' cannot be set as well.",
        ),
        (
            ("'format' = 'avro'", "'schema.registry.url' = 'http://me:secret@r:1'"),
            "must be an http or https address without a login.",
        ),
        (
            ("'format' = 'avro'", "'avro.schema' = '{}'", "'schema.registry.username' = 'me'"),
            "'schema.registry.username' applies to a schema registry, and a names none.",
        ),
        (
            (
                "'format' = 'avro'",
                "'schema.registry.url' = 'http://r:1'",
                "'schema.registry.password.env' = 'PW'",
            ),
            "does not say its 'schema.registry.username'",
        ),
        (("'changelog' = 'upsert'",), "does not say its 'key.columns'"),
        (
            ("'changelog' = 'upsert'", "'key.columns' = 'j'"),
            "'key.columns' of a names j, which it does not have.",
        ),
        (
            ("'changelog' = 'upsert'", "'key.columns' = 'k, K'"),
            "has the column k twice. Remove one.",
        ),
        (("'key.columns' = 'k'",), "applies to 'changelog' = 'upsert'. Remove it; the key of"),
        (
            ("'changelog' = 'debezium'", "'format' = 'csv'"),
            "envelopes of Debezium are JSON, Avro or Protobuf, and 'format' is 'csv'.",
        ),
        (("'on.truncate' = 'ignore'",), "'on.truncate' applies to 'changelog' = 'debezium'."),
        (
            ("'kafka.bootstrap.servers' = 'me:hunter2@h:1'",),
            "'kafka.bootstrap.servers' has a login, which the text of a job must not have.",
        ),
        (("'delimiter' = ';'",), "applies to the format csv, and the format of the source a is"),
    ],
)
def test_a_property_that_contradicts_another_is_rejected(
    properties: tuple[str, ...], error: str
) -> None:
    assert error in rejected(source(*properties))


@pytest.mark.parametrize("topic", ["pay ments", "a/b", "ä", "..", "x" * 250])
def test_a_name_that_no_topic_can_have_is_rejected(topic: str) -> None:
    sql = source().replace("'topic' = 't'", f"'topic' = '{topic}'")
    assert f"'{topic[:100]}' is not the name of a topic" in rejected(sql)
    build_job(source().replace("'topic' = 't'", f"'topic' = 'a.B_c-{'0' * 243}'"))


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (("'bootstrap.servers' = 'me:hunter2@h:1'",), "'bootstrap.servers' has a login"),
        (("'kafka.sasl.password' = 'hunter2'",), "'kafka.sasl.password' is a secret"),
        (
            ("'format' = 'avro'", "'schema.registry.url' = 'http://me:hunter2@r:1'"),
            "must be an http or https address without a login",
        ),
    ],
)
def test_a_secret_in_the_text_of_a_job_is_rejected_and_not_printed(
    tmp_path: Path, properties: tuple[str, ...], error: str
) -> None:
    job = tmp_path / "job.sql"
    sql = source(*properties)
    job.write_text(
        sql.replace("'bootstrap.servers' = 'h:1', ", "") if "'bootstrap" in error else sql
    )
    for more in ([], ["--json"]):
        done = CliRunner().invoke(app, ["explain", str(job), *more])
        assert done.exit_code == 2
        assert error in done.output
        assert "hunter2" not in done.output


def test_a_secret_in_an_address_is_not_told() -> None:
    given = ("'format' = 'avro'", "'schema.registry.url' = 'http://me:secret@r:1'")
    assert "secret" not in rejected(source(*given)).replace("'schema.registry.password.env'", "")


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (("'format' = 'csv'",), "writes JSON, Avro or Protobuf, and 'format' is 'csv'."),
        (
            ("'format' = 'avro'", "'avro.schema' = '{}'", "'wire.format' = 'confluent'"),
            "'wire.format' = 'confluent' needs a schema registry, which assigns the ids",
        ),
    ],
)
def test_a_sink_that_cannot_write_its_format_is_rejected(
    properties: tuple[str, ...], error: str
) -> None:
    given = ("'connector' = 'kafka'", "'topic' = 't'", "'bootstrap.servers' = 'h:1'", *properties)
    sink = f"CREATE SINK out WITH ({', '.join(given)}) AS SELECT k FROM a;"
    assert error in rejected(
        "CREATE SOURCE a (k STRING) WITH ('connector' = 'kafka', 'topic' = 't', "
        f"'bootstrap.servers' = 'h:1');\n{sink}"
    )


def test_changes_that_retract_rows_have_no_columns_of_their_record() -> None:
    given = ("'connector' = 'kafka'", "'topic' = 't'", "'bootstrap.servers' = 'h:1'")
    properties = ", ".join((*given, "'changelog' = 'debezium'"))
    columns = "k STRING, _offset BIGINT"
    sql = f"CREATE SOURCE a ({{columns}}) WITH ({properties});\n{SINK}"
    assert "_offset of a retraction would be that of the change" in rejected(
        sql.format(columns=columns)
    )
    build_job(sql.format(columns=f"{columns}, _OP STRING"))
    table = (
        "CREATE TABLE a (k STRING, t TIMESTAMP, PRIMARY KEY (k), WATERMARK FOR t AS t) "
        f"WITH ({properties});\n"
    )
    assert "has no column for the kind of a change. Declare the column _OP STRING." in rejected(
        table + SINK
    )


def test_a_source_of_raw_values_has_one_column_for_them() -> None:
    sql = (
        "CREATE SOURCE a (columns) WITH ('connector' = 'kafka', 'topic' = 't',"
        " 'bootstrap.servers' = 'h:1', 'format' = 'raw');\n"
        "CREATE SINK out WITH ('connector' = 'noop') AS SELECT * FROM a;"
    )
    error = rejected(sql.replace("columns", "a STRING, b STRING, _key STRING"))
    assert "with 'format' = 'raw', one column is the value; there are a, b." in error
    assert build_job(sql.replace("columns", "a STRING, _KEY STRING")).pipelines


def test_functions_that_cannot_retract_name_a_fix_for_a_source_of_upserts() -> None:
    error = rejected(
        "CREATE SOURCE a (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 't',"
        " 'bootstrap.servers' = 'h:1', 'changelog' = 'upsert', 'key.columns' = 'k');\n"
        "CREATE SINK out WITH ('connector' = 'noop') AS SELECT v, max(k) AS m FROM a GROUP BY v "
        "WITH ('state.ttl' = 'forever');"
    )
    assert "a retracts rows, and max does not support retraction" in error
    assert "Declare the column _OP STRING in a, so that changes are ordinary rows" in error


def test_a_changelog_is_joined_by_joins_that_retract() -> None:
    given = "'connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'h:1'"
    columns = "k STRING, t TIMESTAMP, WATERMARK FOR t AS t"
    sql = (
        f"CREATE SOURCE a ({columns}) WITH ({given});\n"
        f"CREATE SOURCE b ({columns}) WITH ({given}, 'changelog' = 'upsert', 'key.columns' = 'k');"
        "\nCREATE SINK out WITH ('connector' = 'noop') AS SELECT a.k FROM a JOIN b ON a.k = b.k "
    )
    bounded = "AND b.t BETWEEN a.t AND a.t + INTERVAL 1 MINUTE;"
    assert "MS-PLAN-RETRACT" in rejected(sql + bounded)
    job = build_job(sql + "WITH ('state.ttl' = 'forever', 'output.mode' = 'retract');")
    (pipeline,) = job.pipelines
    assert [type(each).__name__ for each in operators_of(pipeline.root)] == [
        "RegularJoin",
        "TopN",
    ]


def test_columns_of_records_that_only_a_join_reads_are_part_of_its_inputs() -> None:
    columns = "(k STRING, t TIMESTAMP, WATERMARK FOR t AS t)"
    given = "'connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'h:1'"
    job = build_job(
        f"CREATE SOURCE a {columns} WITH ({given});\nCREATE SOURCE b {columns} WITH ({given});\n"
        "CREATE SINK out WITH ('connector' = 'noop') AS SELECT a.k FROM a JOIN b "
        "ON a._OFFSET = b._OFFSET AND a._PARTITION = 1 AND b.t BETWEEN a.t AND a.t;"
    )
    (join,) = operators_of(job.pipelines[0].root)
    left, right = inputs_of(join)
    assert [each.name for each in left.node.columns] == ["k", "t", "_partition", "_offset"]
    assert [each.name for each in right.node.columns] == ["k", "t", "_offset"]
    assert (left.used, right.used) == (("k",), ())


def test_a_topic_of_upserts_needs_keys() -> None:
    sql = (
        "CREATE SOURCE a (k STRING, t TIMESTAMP, WATERMARK FOR t AS t);\n"
        "CREATE SINK out WITH ('connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'h:1'"
        "{more}) AS SELECT k, COUNT(*) AS n FROM a GROUP BY k EMIT CHANGES "
        "WITH ('output.mode' = 'upsert', 'state.ttl' = 'forever');"
    )
    assert "a topic of upserts needs keys. Add 'key.columns' = '…'" in rejected(sql.format(more=""))
    assert "names the column j, which its query does not select" in rejected(
        sql.format(more=", 'key.columns' = 'j'")
    )
    assert build_job(sql.format(more=", 'key.columns' = 'k'")).sink("out") is not None


def sink(*properties: str) -> str:
    given = ("'connector' = 'kafka'", "'topic' = 't'", "'bootstrap.servers' = 'h:1'", *properties)
    rows = "CREATE SOURCE a (k STRING) WITH ('connector' = 'rate');"
    return f"{rows}\nCREATE SINK out WITH ({', '.join(given)}) AS SELECT k FROM a;"


@pytest.mark.parametrize(
    ("properties", "delivery"),
    [
        (
            (),
            "exactly once: a transaction per task contains its rows and the number of the batch; "
            "consumers need isolation.level=read_committed",
        ),
        (
            ("'delivery' = 'at_least_once'",),
            "at least once: rows may be written again after a failure",
        ),
    ],
)
def test_explain_shows_the_guarantee_of_a_sink(properties: tuple[str, ...], delivery: str) -> None:
    lines = explain(build_job(sink(*properties))).replace("│", " ")
    assert f"delivery {delivery}" in " ".join(lines.split())


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
