"""Event time from computed columns of a source, and from a stream with its own watermark."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import Engine, Input, Job, Select, Source
from millstream.plan.nodes.traversal import inputs_of, operators_of

WINDOW = "FROM {} WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k"
SOURCE = """
CREATE SOURCE s (k STRING, ms BIGINT, text STRING, ts AS {},
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) WITH ({});
CREATE SINK out AS SELECT k, count(*) AS n {};
"""


def source(expression: str, properties: str = "'connector' = 'memory'") -> Job:
    return build_job(SOURCE.format(expression, properties, WINDOW.format("s")))


def stream(query: str, clause: str = "WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS") -> Job:
    return build_job(
        "CREATE SOURCE s (k STRING, ms BIGINT) WITH ('connector' = 'memory');\n"
        f"CREATE STREAM z ({clause}) AS {query};\n"
        f"CREATE SINK out AS SELECT k, count(*) AS n {WINDOW.format('z')};"
    )


def input_of(job: Job) -> Input:
    (operator,) = operators_of(job.pipelines[0].root)
    (side,) = inputs_of(operator)
    return side


def test_a_computed_column_is_the_event_time_of_its_source():
    job = source("timestamp_millis(ms)")
    side = input_of(job)
    assert (side.time, side.delay) == ("ts", 5_000_000)
    assert isinstance(side.node, Select)
    below = side.node.input
    assert isinstance(below, Source)
    assert [column.name for column in below.columns] == ["k", "ms", "text"]
    assert derive_job_facts(job)[0].engine is Engine.COLUMNAR


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("now()", "MS-PLAN-NONDETERMINISTIC at line 2, column 52: now() can have another value"),
        ("ms + 1", "MS-PLAN-TIME-TYPE at line 2, column 52: ts, the event time of s, is a number"),
        ("element_at(array(ms), 1)", "MS-PLAN-TIME-TYPE at line 2, column 52: ts, the event time"),
        ("timestamp_millis(x)", "MS-PLAN-UNKNOWN-COLUMN at line 2, column 75:"),
        ("timestamp_millis(", "MS-SQL-PARSE at line 3"),
    ],
)
def test_a_computed_event_time_is_a_deterministic_timestamp(expression, error):
    with pytest.raises(MillstreamError) as caught:
        source(expression)
    assert str(caught.value).startswith(error)


def test_a_computed_column_without_an_expression_is_a_syntax_error():
    with pytest.raises(MillstreamError) as caught:
        source("")
    assert caught.value.code == "MS-SQL-PARSE"
    assert caught.value.cause == 'unexpected ",", expected an expression for the column ts.'


def test_a_missing_computed_time_can_be_the_processing_time():
    job = source("timestamp_millis(ms)", "'connector' = 'memory', 'event.missing' = 'wall_clock'")
    node = input_of(job).node
    assert isinstance(node, Select)
    time = node.outputs[-1].expression
    assert str(time) == "coalesce(timestamp_millis(s.ms), current_timestamp())"


def test_a_table_has_no_computed_columns():
    with pytest.raises(MillstreamError, match="MS-SQL-STATEMENT at line 1, column 27: the table t"):
        build_job("CREATE TABLE t (k STRING, n AS 1);")


def test_a_stream_can_have_a_watermark_of_its_own():
    job = stream("SELECT k, timestamp_millis(ms) AS ts FROM s")
    side = input_of(job)
    assert (side.time, side.delay) == ("ts", 5_000_000)
    assert watermark_delay_of(side.node) == 5_000_000
    assert derive_job_facts(job)[0].engine is Engine.COLUMNAR


@pytest.mark.parametrize(
    ("query", "clause", "error"),
    [
        (
            "SELECT k, ms AS ts FROM s",
            "WATERMARK FOR ts AS ts",
            "MS-PLAN-TIME-TYPE at line 2, column 18: the watermark column ts has the type BIGINT",
        ),
        (
            "SELECT k, timestamp_millis(ms) AS at FROM s",
            "WATERMARK FOR ts AS ts",
            "MS-PLAN-UNKNOWN-COLUMN at line 2, column 18: the watermark uses ts, which is not",
        ),
        (
            "SELECT DISTINCT k, timestamp_millis(ms) AS ts FROM s WITH ('state.ttl' = 'forever')",
            "WATERMARK FOR ts AS ts",
            "MS-PLAN-WATERMARK at line 2, column 18: z reads the results of a join or another",
        ),
        ("SELECT k FROM s", "k STRING", "MS-SQL-PARSE at line 2, column 18:"),
    ],
)
def test_the_watermark_of_a_stream_is_on_a_computed_timestamp(query, clause, error):
    with pytest.raises(MillstreamError) as caught:
        stream(query, clause)
    assert str(caught.value).startswith(error)
