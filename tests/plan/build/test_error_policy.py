"""Planning 'on.error': where it can be set, and what explain says about it."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.explain.render import explain, explain_json
from millstream.temporal import ErrorAction, ErrorPolicy

SOURCES = """
CREATE SOURCE o (id STRING, v INT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'memory');
CREATE SOURCE p (id STRING, w INT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'memory');
CREATE SINK bad WITH ('connector' = 'console');
"""
JOIN = "SELECT o.id FROM o JOIN p WITHIN INTERVAL 1 HOUR ON o.id = p.id AND 10 / p.w > o.v"
DIVERTS = "WITH ('on.error' = 'dead_letter')"


def sink(query: str, name: str = "out") -> str:
    return f"CREATE SINK {name} WITH ('connector' = 'console') AS {query};"


def policies(*statements: str) -> list[ErrorPolicy]:
    return [each.errors for each in build_job(SOURCES + ";\n".join(statements)).pipelines]


def test_the_default_is_fail_and_set_changes_it_for_queries_without_the_property():
    fails, diverts = ErrorPolicy(), ErrorPolicy(ErrorAction.DEAD_LETTER)
    assert policies(sink("SELECT id FROM o")) == [fails]
    both = [sink("SELECT id FROM o"), sink("SELECT id FROM p WITH ('on.error' = 'FAIL')", "two")]
    assert policies("SET 'on.error' = 'dead_letter'", *both) == [diverts, fails]
    union = sink(f"SELECT id FROM o UNION ALL SELECT id FROM p {DIVERTS}")
    assert policies(union) == [diverts, diverts]
    named = "WITH ('on.error' = 'dead_letter', 'dead_letter.sink' = 'BAD')"
    assert policies(sink(f"SELECT id FROM o {named}")) == [
        ErrorPolicy(ErrorAction.DEAD_LETTER, "bad")
    ]


@pytest.mark.parametrize(
    ("statements", "code", "text"),
    [
        (
            [sink("SELECT id FROM o WITH ('dead_letter.sink' = 'bad')")],
            "MS-PLAN-ON-ERROR",
            "the query stops if an expression fails",
        ),
        (
            [
                sink(
                    "SELECT id FROM o WITH ('on.error' = 'dead_letter', 'dead_letter.sink' = 'bed')"
                )
            ],
            "MS-PLAN-UNKNOWN-SINK",
            "Did you mean bad",
        ),
        (
            [
                sink(
                    "SELECT id FROM o WITH ('on.error' = 'dead_letter', 'dead_letter.sink' = 'out')"
                )
            ],
            "MS-PLAN-SHARED-SINK",
            "dead letters and a query both write to the sink out",
        ),
        (
            [f"CREATE STREAM s AS SELECT id FROM o {DIVERTS}", sink("SELECT id FROM s")],
            "MS-PROP-UNUSED",
            "set it on the outermost query",
        ),
        (
            [sink(f"SELECT id FROM o {DIVERTS}"), "INSERT INTO out SELECT id FROM p"],
            "MS-PLAN-ON-ERROR",
            "different values of 'on.error'",
        ),
        (
            [sink(f"{JOIN} WITH ('on.error' = 'dead_letter', 'engine' = 'native')")],
            "MS-PLAN-ENGINE",
            "do not pass on rows for which an expression fails",
        ),
        (
            [sink("SELECT id FROM o WITH ('on.error' = 'null')")],
            "MS-PROP-VALUE",
            "one of fail, dead_letter",
        ),
    ],
)
def test_what_cannot_be_planned_is_rejected(statements, code, text):
    with pytest.raises((PlanError, PropertyError), match=text) as raised:
        group_into_queries(build_job(SOURCES + ";\n".join(statements)))
    assert raised.value.code == code
    assert raised.value.place is not None


def test_explain_shows_where_rows_go_and_which_expressions_stop_the_query():
    job = build_job(SOURCES + sink(f"{JOIN} {DIVERTS}"))
    shown = " ".join(explain(job).replace("│", " ").split())
    assert "on error dead_letter: a row for which an expression fails goes to" in shown
    assert "fail: 10 / p.w > o.v, which is evaluated for pairs of rows" in shown
    [pipeline] = explain_json(job)["pipelines"]
    assert pipeline["on_error"] == {
        "action": "dead_letter",
        "sink": None,
        "fails": ["10 / p.w > o.v"],
    }
    plain = build_job(SOURCES + sink("SELECT id FROM o"))
    assert "on error" not in explain(plain)
    assert "on_error" not in explain_json(plain)["pipelines"][0]
