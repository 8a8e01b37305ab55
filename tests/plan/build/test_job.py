"""Whole jobs: sources, views, sinks and settings that find each other."""

from __future__ import annotations

import pytest
from tests.plan.plans import SOURCES, job

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job, build_query
from millstream.plan.connectors import ConnectorSpec
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Column, Engine, IntervalJoin, Select, Source
from millstream.plan.nodes.traversal import operators_of
from millstream.temporal import (
    Emit,
    LateAction,
    MalformedAction,
    MissingTime,
    OnLimit,
    OutputMode,
    Watermark,
)

JOIN = (
    "SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id"
)


def rejected(sql: str) -> str:
    with pytest.raises(MillstreamError) as caught:
        job(sql)
    return str(caught.value)


def test_a_declared_source_has_its_policies() -> None:
    plan = build_job(
        """CREATE SOURCE a (k STRING, t TIMESTAMP, WATERMARK FOR T AS t - INTERVAL 2 SECONDS)
        WITH ('connector' = 'FILE', 'path' = 'x', 'event.missing' = 'Skip', 'malformed' = 'fail',
              'dead_letter.sink' = 'BAD', 'timestamp.format' = 'yyyy');
        CREATE SINK bad; CREATE SINK out AS SELECT * FROM A"""
    )
    assert plan.pipelines[0].root.input == Source(
        "a",
        (Column("k", "STRING"), Column("t", "TIMESTAMP")),
        Watermark("t", 2_000_000),
        "file",
        (("path", "x"), ("timestamp.format", "yyyy")),
        MissingTime.SKIP,
        MalformedAction.FAIL,
        "bad",
    )


def test_a_sink_without_a_connector_is_in_memory() -> None:
    plan = job("CREATE SINK out AS SELECT order_id FROM orders")
    assert plan.pipelines[0].sink.connector == "memory"
    assert plan.sink("out") == plan.pipelines[0].sink


def test_insert_into_writes_to_a_sink_declared_before_or_after() -> None:
    plan = job(
        """INSERT INTO OUT SELECT order_id FROM orders EMIT CHANGES;
        CREATE SINK out WITH ('connector' = 'console')"""
    )
    (pipeline,) = plan.pipelines
    assert (pipeline.name, pipeline.sink.connector, pipeline.emit) == (
        "out",
        "console",
        Emit.CHANGES,
    )


def test_a_stream_is_inlined_into_each_of_its_users() -> None:
    plan = job(
        """CREATE STREAM big AS SELECT order_id, event_time AS at FROM orders WHERE total > 9;
        CREATE SINK one AS SELECT order_id FROM big;
        CREATE SINK two AS SELECT b.order_id FROM big b JOIN shipments s WITHIN 1 HOUR
          USING (order_id)"""
    )
    one, two = (pipeline.root.input for pipeline in plan.pipelines)
    assert isinstance(one, Select)
    assert str(one.where) == "orders.total > 9"
    assert isinstance(two, IntervalJoin)
    assert two.left.node == one
    assert (two.left.time, two.left.delay, two.right.delay) == ("at", 5_000_000, 10_000_000)


def test_settings_choose_the_engine_and_a_query_may_choose_another() -> None:
    plan = job(
        f"""SET 'engine' = 'native'; SET 'checkpoint' = 'here'; SET 'spark.x.Y' = '1';
        CREATE SINK a AS {JOIN}; CREATE SINK b AS {JOIN} WITH ('engine' = 'columnar')"""
    )
    assert [pipeline.engine for pipeline in plan.pipelines] == [Engine.NATIVE, Engine.COLUMNAR]
    assert plan.setting("checkpoint") == "here"
    assert plan.setting("spark.x.Y") == "1"


def test_policies_of_a_join_reach_the_plan() -> None:
    plan = job(
        f"""CREATE SINK late; CREATE SINK out AS {JOIN}
        WITH ('late.policy' = 'side_output', 'late.sink' = 'LATE', 'join.retention' = '1h',
              'state.max_rows' = '10', 'state.max_bytes' = '20', 'state.on_limit' = 'evict')"""
    )
    join = plan.pipelines[0].root.input
    assert isinstance(join, IntervalJoin)
    assert (join.late.action, join.late.sink) == (LateAction.SIDE_OUTPUT, "late")
    assert join.retention == 3_600_000_000
    assert (join.limit.max_rows, join.limit.max_bytes, join.limit.on_limit) == (
        10,
        20,
        OnLimit.EVICT,
    )


def test_properties_of_a_sources_watermark() -> None:
    plan = build_job(
        """CREATE SOURCE a (t TIMESTAMP, WATERMARK FOR t AS t)
        WITH ('idle.timeout' = '30s', 'watermark.every' = '100');
        CREATE SINK out AS SELECT * FROM a"""
    )
    source = plan.pipelines[0].root.input
    assert isinstance(source, Source)
    assert source.watermark == Watermark("t", delay=0, every=100)
    assert (source.idle, source.options) == (30_000_000, ())


def test_late_rows_of_a_window_reach_their_sink() -> None:
    plan = job(
        """CREATE SINK late; CREATE SINK out AS SELECT count(*) AS n FROM orders
        WINDOW TUMBLING(INTERVAL 1 HOUR)
        WITH ('late.policy' = 'side_output', 'late.sink' = 'LATE')"""
    )
    (operator,) = operators_of(plan.pipelines[0].root)
    assert (operator.late.action, operator.late.sink) == (LateAction.SIDE_OUTPUT, "late")


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("SELECT count(*) AS n FROM orders", OutputMode.RETRACT),
        ("SELECT count(*) AS n FROM orders WITH ('output.mode' = 'UPSERT')", OutputMode.UPSERT),
        ("SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)", OutputMode.APPEND),
        ("SELECT order_id FROM orders WITH ('output.mode' = 'append')", OutputMode.APPEND),
    ],
)
def test_output_mode_is_the_property_or_derived_from_the_query(
    query: str, mode: OutputMode
) -> None:
    assert job(f"CREATE SINK a AS {query}").pipelines[0].mode is mode


def test_an_append_only_sink_rejects_retractions() -> None:
    log = ConnectorSpec("log", "", sink="nowhere:open_sink")
    sql = "CREATE SINK a WITH ('connector' = 'log') AS SELECT count(*) AS n FROM orders"
    with pytest.raises(MillstreamError) as caught:
        build_job(sql, sources=SOURCES, connectors=installed_connectors().with_spec(log))
    assert str(caught.value) == (
        "MS-PLAN-RETRACT at line 1, column 45: the query retracts rows, and the sink a (log) "
        "accepts only appended rows, not 'retract'. Use EMIT FINAL with a WINDOW and no "
        "'window.lateness', or another sink."
    )


def test_declared_sources_have_precedence_over_passed_ones() -> None:
    plan = job("CREATE SOURCE orders (x INT); CREATE SINK out AS SELECT x FROM orders")
    source = plan.pipelines[0].root.input
    assert isinstance(source, Source)
    assert source.columns == (Column("x", "INT"),)


def test_variables_are_substituted() -> None:
    plan = build_job(
        "CREATE SINK ${name} WITH ('connector' = 'file', 'path' = '${path}') AS "
        "SELECT order_id FROM orders",
        variables={"name": "out", "path": "it's"},
        sources=SOURCES,
    )
    assert plan.pipelines[0].sink.options == (("path", "it's"),)


def test_build_query_writes_to_a_data_frame() -> None:
    pipeline = build_query(JOIN, SOURCES)
    assert (pipeline.sink.name, pipeline.sink.connector) == ("result", "dataframe")


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (
            "SET 'engine' = 'native'",
            "MS-PLAN-NO-QUERY: the job has no query that writes to a sink. Add CREATE SINK name "
            "WITH (…) AS SELECT …, or INSERT INTO name SELECT …",
        ),
        (
            "SELECT order_id FROM orders",
            "MS-PLAN-NO-SINK at line 1, column 1: this SELECT does not write to a sink. Write "
            "CREATE SINK name WITH (…) AS before it, or INSERT INTO name.",
        ),
        (
            "CREATE SINK shipped; INSERT INTO shiped SELECT order_id FROM orders",
            "MS-PLAN-UNKNOWN-SINK at line 1, column 22: shiped is not a sink of this job. "
            "Did you mean shipped?",
        ),
        (
            "CREATE SINK a AS SELECT order_id FROM orders;\nINSERT INTO a SELECT total FROM orders",
            "MS-PLAN-SHARED-SINK at line 2, column 15: two statements write to the sink a: one "
            "selects order_id, the other total. Select the same columns in the same order, or "
            "give each statement its own sink.",
        ),
        (
            f"CREATE SINK a AS {JOIN} WITH ('late.policy' = 'side_output', 'late.sink' = 'a')",
            "MS-PLAN-SHARED-SINK at line 1, column 50: late rows and a query both write to the "
            "sink a. Give late rows a sink of their own.",
        ),
        (
            "CREATE SOURCE x (k STRING); CREATE SINK X AS SELECT k FROM x",
            "MS-PLAN-DUPLICATE-NAME at line 1, column 29: X is declared twice.",
        ),
        (
            "CREATE SOURCE x (k STRING, K INT); CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-DUPLICATE-COLUMN at line 1, column 28: x has more than one column named K.",
        ),
        (
            "CREATE STREAM a AS SELECT * FROM b; CREATE STREAM b AS SELECT * FROM a; "
            "CREATE SINK c AS SELECT * FROM a",
            "MS-PLAN-CYCLE at line 1, column 70: the stream a reads itself: a reads b reads a.",
        ),
        (
            "CREATE SOURCE x (k STRING, WATERMARK FOR t AS t); CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-UNKNOWN-COLUMN at line 1, column 28: the watermark uses t, which is not a "
            "column of x. Known: k.",
        ),
        (
            "CREATE SOURCE x (t STRING, WATERMARK FOR t AS t); CREATE SINK a AS SELECT t FROM x",
            "MS-PLAN-TIME-TYPE at line 1, column 28: the watermark column t has the type STRING, "
            "not TIMESTAMP. Declare t TIMESTAMP.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('connector' = 'jdbc', 'topic' = 't'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PROP-MISSING at line 1, column 1: the source x does not say its 'url', which "
            "'jdbc' needs. Add 'url' = 'jdbc:postgresql://host:5432/database'.",
        ),
        (
            "CREATE SINK a WITH ('connector' = 'jdbc') AS SELECT order_id FROM orders",
            "MS-PROP-MISSING at line 1, column 1: the sink a does not say its 'url', which 'jdbc' "
            "needs. Add 'url' = 'jdbc:postgresql://host:5432/database'.",
        ),
        (
            "CREATE SINK a WITH ('connector' = 'file', 'path' = 'a', 'partition.by' = 'ORDER_ID') "
            "AS SELECT order_id FROM orders",
            "MS-PLAN-PARTITION at line 1, column 1: the sink a is partitioned by all its "
            "columns, so its files have none. Remove a column from 'partition.by', or select "
            "another column.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('idle.timeout' = '5s'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-NO-WATERMARK at line 1, column 34: 'idle.timeout' needs a watermark, and x "
            "has none. Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS, or remove "
            "'idle.timeout'.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('watermark.every' = '5'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-NO-WATERMARK at line 1, column 34: 'watermark.every' needs a watermark, and "
            "x has none. Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS, or remove "
            "'watermark.every'.",
        ),
        (
            "CREATE SOURCE x (t TIMESTAMP, WATERMARK FOR t AS t) WITH ('idle.timeout' = '0s'); "
            "CREATE SINK a AS SELECT t FROM x",
            "MS-PLAN-IDLE at line 1, column 76: with 'idle.timeout' = '0s', x would always be "
            "idle. Set the time without rows after which the source is idle, such as 1m.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('watermark.max_ahead' = '1d'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-NO-WATERMARK at line 1, column 34: 'watermark.max_ahead' needs a watermark, "
            "and x has none. Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS, or "
            "remove 'watermark.max_ahead'.",
        ),
        (
            "CREATE SOURCE x (t TIMESTAMP, WATERMARK FOR t AS t) WITH "
            "('watermark.max_ahead' = '0s'); CREATE SINK a AS SELECT t FROM x",
            "MS-PROP-VALUE at line 1, column 83: 'watermark.max_ahead' cannot be '0s'. Use a "
            "duration above 0, such as 5m, 24h or 7d, or off.",
        ),
        (
            "CREATE SINK late; CREATE SINK a AS SELECT count(*) AS n FROM orders "
            "WINDOW TUMBLING(INTERVAL 1 HOUR) "
            "WITH ('late.policy' = 'side_output', 'late.sink' = 'a')",
            "MS-PLAN-SHARED-SINK at line 1, column 36: late rows and a query both write to the "
            "sink a. Give late rows a sink of their own.",
        ),
        (
            "CREATE TABLE x (k STRING); CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-TABLE at line 1, column 59: x is a table, and a query needs a stream first "
            "in FROM. Join it to a stream: FROM orders o JOIN x ON …, or declare x as a SOURCE "
            "to read it as a stream.",
        ),
        (
            "CREATE TABLE x (k STRING, t TIMESTAMP, WATERMARK FOR t AS t); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-NOT-YET at line 1, column 94: reading the table x cannot be run yet. To "
            "join its versions, write JOIN x FOR SYSTEM_TIME AS OF o.event_time ON …",
        ),
        (
            "CREATE SINK a AS WITH v AS (SELECT order_id FROM orders), V AS (SELECT carrier FROM "
            "shipments) SELECT * FROM v",
            "MS-PLAN-DUPLICATE-NAME at line 1, column 59: WITH defines V twice.",
        ),
        (
            "CREATE SINK a AS (SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) "
            "EMIT FINAL) EMIT CHANGES",
            "MS-PLAN-EMIT at line 1, column 97: EMIT FINAL and EMIT CHANGES are both set on one "
            "query. Remove one of them.",
        ),
        (
            "CREATE SINK a AS SELECT sum(total) AS s FROM orders GROUP BY customer_id "
            "EMIT CHANGES WITH ('output.mode' = 'upsert', 'state.ttl' = '1d')",
            "MS-PLAN-RETRACT at line 1, column 93: the result does not contain "
            "orders.customer_id, which a sink needs to find the row that an upsert replaces. "
            "Select orders.customer_id, or set 'retract'.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('path' = 'a', 'PATH' = 'b'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-SQL-PARSE at line 1, column 48: 'path' is specified twice, first at line 1, "
            "column 34.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('Dead_Letter.Sink' = 'nowhere'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-UNKNOWN-SINK at line 1, column 55: nowhere is not a sink of this job. "
            "Known: a.",
        ),
        (
            "CREATE SOURCE x (k INT8); CREATE SINK a AS SELECT k FROM x",
            "MS-SQL-TYPE at line 1, column 20: INT8 has 8 bytes in some databases and 8 bits in "
            "others. Write BIGINT or TINYINT.",
        ),
        (
            "CREATE SOURCE x (k DECIMAL(50, 2)); CREATE SINK a AS SELECT k FROM x",
            "MS-SQL-TYPE at line 1, column 20: the precision of a DECIMAL must be from 1 to 38, "
            "not 50. Write DECIMAL(precision, scale), such as DECIMAL(18, 2).",
        ),
        (
            "CREATE SOURCE x (k ARRAY<DECIMAL(2, 5)>); CREATE SINK a AS SELECT k FROM x",
            "MS-SQL-TYPE at line 1, column 20: the scale of a DECIMAL must not exceed its "
            "precision: 5 is above 2. Write DECIMAL(precision, scale), such as DECIMAL(18, 2).",
        ),
        (
            "CREATE SOURCE x (k ARRAY<JSON>); CREATE SINK a AS SELECT k FROM x",
            "MS-SQL-TYPE at line 1, column 20: a column cannot have the type JSON. Write STRING, "
            "or VARIANT.",
        ),
        (
            "CREATE SOURCE x (k STRING) WITH ('dead_letter.sink' = 'bad'); "
            "CREATE SINK a AS SELECT k FROM x",
            "MS-PLAN-UNKNOWN-SINK at line 1, column 55: bad is not a sink of this job. Known: a.",
        ),
        (
            "CREATE STREAM v AS SELECT * FROM orders WITH ('engine' = 'native'); "
            "CREATE SINK a AS SELECT * FROM v",
            "MS-PLAN-ENGINE at line 1, column 1: 'engine' is set on an inner query. One engine "
            "runs the whole query: set it on the outermost query or with SET.",
        ),
        (
            "SET 'chekpoint' = 'x'; CREATE SINK a AS SELECT * FROM orders",
            "MS-PROP-UNKNOWN at line 1, column 5: a job has no property 'chekpoint'. "
            "Did you mean 'checkpoint'?",
        ),
    ],
)
def test_invalid_jobs_are_rejected_with_code_position_and_fix(sql: str, error: str) -> None:
    assert rejected(sql) == error


def test_build_query_accepts_exactly_one_select() -> None:
    with pytest.raises(MillstreamError) as caught:
        build_query(f"{JOIN}; SET 'engine' = 'native'", SOURCES)
    assert str(caught.value) == (
        "MS-SQL-STATEMENT at line 1, column 95: the text must be exactly one SELECT. Run a text "
        "with other statements as a job."
    )
