"""What is certainly wrong under Spark's rules is rejected in planning, with its place."""

from __future__ import annotations

import pytest
from tests.plan.plans import error_of, job, plan

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.expressions.functions import session_functions
from millstream.plan.facts.pipeline import derive_job_facts

TYPES = """
CREATE SOURCE typed (
  n BIGINT, d DOUBLE, s STRING, flag BOOLEAN, day DATE, t TIMESTAMP, bytes BINARY, xs ARRAY<INT>,
  tags MAP<STRING, INT>, point STRUCT<x: INT, y: INT>, WATERMARK FOR t AS t
);
CREATE SINK it AS SELECT {};
"""

# The query after SELECT, and the start of the error after "MS-PLAN-TYPE at line 6, ".
REJECTED = [
    ("flag + 1 AS x FROM typed", "column 26: flag is BOOLEAN, and + needs numbers. Write CAST("),
    ("n * point AS x FROM typed", "column 30: point is STRUCT<x: INT, y: INT>, and * needs"),
    ("-flag AS x FROM typed", "column 27: flag is BOOLEAN, and - needs numbers."),
    ("day * 2 AS x FROM typed", "column 26: day is DATE, and * needs numbers."),
    ("t + 1 AS x FROM typed", "column 26: 1 is a number, and only an INTERVAL can be added to"),
    ("n FROM typed WHERE n", "column 45: n is BIGINT, and a condition must be BOOLEAN."),
    ("n FROM typed WHERE d > 1 AND s", "column 55: s is STRING, and a condition must be"),
    ("n FROM typed WHERE flag OR n", "column 53: n is BIGINT, and a condition must be BOOLEAN"),
    ("n FROM typed WHERE NOT n", "column 49: n is BIGINT, and a condition must be BOOLEAN."),
    ("n FROM typed WHERE point > 3", "column 45: point is STRUCT<x: INT, y: INT> and 3 is a"),
    ("n FROM typed WHERE xs = 'a'", "column 45: xs is ARRAY<INT> and 'a' is STRING, which cann"),
    ("n FROM typed WHERE tags = tags", "column 45: tags is MAP<STRING, INT> and tags is MAP<"),
    ("n FROM typed WHERE t > 5", "column 45: t is TIMESTAMP and 5 is a number, which cannot"),
    ("n FROM typed WHERE n IN (1, day)", "column 45: n is BIGINT and day is DATE, which cann"),
    ("n FROM typed WHERE t BETWEEN 1 AND 2", "column 45: t is TIMESTAMP and 1 is a number, "),
    ("CASE WHEN n THEN 1 END AS x FROM typed", "column 36: n is BIGINT, and a condition must"),
    ("if(d, 1, 2) AS x FROM typed", "column 29: d is DOUBLE, and a condition must be BOOLEAN."),
    ("upper(xs) AS x FROM typed", "column 32: xs is ARRAY<INT>, which upper does not accept."),
    ("abs(flag) AS x FROM typed", "column 30: flag is BOOLEAN, which abs does not accept."),
    ("length(coalesce(xs, xs)) AS x FROM typed", "column 33: coalesce(xs, xs) is ARRAY<INT>, "),
    ("CASE WHEN flag THEN n ELSE t END AS x FROM typed", "column 53: t is TIMESTAMP and n is BIGI"),
    ("coalesce(n, NULL, xs) AS x FROM typed", "column 44: xs is ARRAY<INT> and n is BIGINT, which"),
    ("s[0] AS x FROM typed", "column 26: s is STRING, which has no elements. For a part of a"),
    ("CAST(point AS INT) AS x FROM typed", "column 31: point is STRUCT<x: INT, y: INT>, which ca"),
    (
        "sum(s) AS x FROM typed WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY n",
        "column 30: s is STRING, which sum does not accept. Write sum(CAST(s AS DOUBLE)).",
    ),
    (
        "avg(flag) AS x FROM typed WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY n",
        "column 30: flag is BOOLEAN, which avg does not accept. Write avg(CAST(flag AS INT)).",
    ),
    (
        "count(*) FILTER (WHERE n) AS x FROM typed WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY s",
        "column 49: n is BIGINT, and a condition must be BOOLEAN.",
    ),
    (
        "n FROM typed WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY n HAVING count(*)",
        "column 90: count(*) is BIGINT, and a condition must be BOOLEAN.",
    ),
]
ACCEPTED = [
    *("n + d", "s + 1", "n || s", "-s", "n = flag", "s > n", "s > t", "day < t", "day + 1"),
    *("t - t", "t + INTERVAL 1 HOUR", "xs = xs", "point = point", "NOT s", "upper(n)"),
    *("CASE n WHEN '1' THEN 1 END", "transform(xs, x -> x + 1)", "filter(xs, s -> s > 1)"),
    *("xs[0] + 1", "tags['a'] * 2", "point.x + point.y", "n IN (1, '2')", "abs(s)", "NULL + 1"),
    *("CAST(flag AS INT) + 1", "flag::INT + 1", "coalesce(n, 0) > 1", "timestamp_millis(n)"),
    *(
        "timestampadd(HOUR, 1, t)",
        "try_cast(s AS INT)",
        "extract(HOUR FROM t)",
        "trim(BOTH FROM s)",
    ),
    *("date_add(day, 1)", "exists(xs, x -> x > 1)", "if(flag, 1, 'a')", "year(s)", "nvl2(s, 1, 2)"),
    *("CASE WHEN flag THEN n ELSE d END", "coalesce(day, t)", "coalesce(n, s)", "CAST(t AS DATE)"),
    *("CAST(xs AS STRING)", "CAST(s AS TIMESTAMP)", "split(s, ',')[0]", "if(flag, NULL, t)"),
]


@pytest.mark.parametrize(("query", "text"), REJECTED)
def test_an_operation_that_its_types_do_not_have_is_rejected_with_its_place(query, text):
    with pytest.raises(PlanError) as caught:
        build_job(TYPES.format(query))
    assert str(caught.value).startswith(f"MS-PLAN-TYPE at line 6, {text}")


@pytest.mark.parametrize("expression", ACCEPTED)
def test_an_operation_that_spark_may_accept_is_planned(expression):
    build_job(TYPES.format(f"{expression} AS x FROM typed"))


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("uper(s)", "Did you mean upper?"),
        ("to_timestmp(s)", "Did you mean to_timestamp?"),
        ("transform(xs, x -> plus_one(x))", 'spark.udf.register("plus_one", …).'),
    ],
)
def test_an_unknown_function_is_rejected_with_the_nearest_name(call, fix):
    error = error_of(f"SELECT {call} AS r FROM events")
    assert error.startswith("MS-PLAN-FUNCTION at line 1, column ")
    assert error.endswith(fix)


def test_a_function_of_the_session_is_accepted():
    with session_functions(lambda name: name == "plus_one"):
        plan("SELECT plus_one(a) AS r FROM events")


def test_join_keys_that_cannot_be_compared_are_rejected_on_the_columnar_engine():
    sql = """
    CREATE SINK pairs AS SELECT o.order_id FROM orders o JOIN events e
      ON o.order_id = e.id AND e.t BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR
    """
    with pytest.raises(PlanError) as caught:
        derive_job_facts(job(sql))
    assert str(caught.value) == (
        "MS-PLAN-KEY-TYPE at line 3, column 10: the key of a join compares o.order_id, which is "
        "STRING, with e.id, which is BIGINT. Write o.order_id = CAST(e.id AS STRING)."
    )
    derive_job_facts(job(f"{sql} WITH ('engine' = 'native')"))


def test_two_statements_of_a_sink_must_select_the_same_types():
    sql = """
    CREATE SINK ids WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json');
    INSERT INTO ids SELECT id FROM events;
    INSERT INTO ids SELECT order_id AS id FROM orders;
    """
    with pytest.raises(PlanError) as caught:
        job(sql)
    assert str(caught.value) == (
        "MS-PLAN-SHARED-SINK at line 4, column 21: two statements write to the sink ids: id is "
        "BIGINT in one, and STRING in the other. Write CAST(… AS BIGINT) AS id in the second "
        "statement."
    )
