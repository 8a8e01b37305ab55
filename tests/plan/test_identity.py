"""What a checkpoint depends on, and the sentences about a change."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import FunctionType
from typing import Any

import pytest

import millstream.plan.explain.render  # noqa: F401 -- its wording is replaced
from millstream.plan.build.job import build_job
from millstream.plan.identity import query_identity
from millstream.plan.kinds import JOINS, KINDS, SINGLE_INPUT
from millstream.plan.nodes import Query
from millstream.state_format import describe_changes
from millstream.temporal import Bounds, Window

SQL = """
CREATE SOURCE orders (order_id STRING, total DOUBLE, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) WITH ('connector' = 'file', 'path' = 'a');
CREATE SOURCE shipments (order_id STRING, carrier STRING, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) WITH ('connector' = 'file', 'path' = 'b');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out') AS
SELECT o.order_id AS id, s.carrier FROM orders o JOIN shipments s ON o.order_id = s.order_id
  AND s.t BETWEEN o.t AND o.t + INTERVAL 24 HOURS AND o.total > 1
WITH ('state.max_rows' = '10');
"""


def changed(sql: str, old: str, new: str, part: str = "state") -> list[str]:
    """The sentences about a job in which one text is replaced."""
    assert old in sql
    first, second = (
        query_identity(Query((build_job(text).pipelines[0],)))[part]
        for text in (sql, sql.replace(old, new))
    )
    return describe_changes(json.loads(json.dumps(first)), second)


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("24 HOURS", "48 HOURS", ["interval join bounds upper: 1d -> 2d"]),
        ("o JOIN", "o LEFT JOIN", ["interval join type: inner -> left"]),
        (
            "o.total > 1",
            "o.total > 2",
            ["interval join left where: `o`.`total` > 1 -> `o`.`total` > 2"],
        ),
        ("total DOUBLE", "total INT", ["sources orders columns total type: double -> int"]),
        (
            "s.carrier FROM",
            "s.carrier, o.total FROM",
            ["interval join left columns in state: order_id -> order_id, total"],
        ),
        (
            "o.order_id = s.order_id",
            "o.order_id = lower(s.order_id)",
            ["interval join keys right: `s`.`order_id` -> lower(`s`.`order_id`)"],
        ),
        ("'10'", "'11'", []),  # a job that hit its limit goes on with a higher one
        ("WITH ('state", "WITH ('engine' = 'columnar', 'state", []),
        (
            "o.total > 1",
            "o.total > s.carrier",
            [
                "interval join left columns in state: order_id -> order_id, total",
                "interval join left where: `o`.`total` > 1 -> none",
                "interval join across: none -> left `o`.`total`, op >, right `s`.`carrier`",
                "interval join across sql: none -> `o`.`total` > `s`.`carrier`",
            ],
        ),
    ],
)
def test_change_that_state_depends_on_is_told(old: str, new: str, sentences: list[str]) -> None:
    assert changed(SQL, old, new) == sentences


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("o.order_id AS id", "upper(o.order_id) AS name"),
        ("'path' = 'a'", "'path' = 'moved'"),
        ("\nSELECT", "\n\n  SELECT"),
    ],
)
def test_change_that_state_does_not_depend_on_is_none(old: str, new: str) -> None:
    assert changed(SQL, old, new) == []


_DELAY = "t - INTERVAL 5 SECONDS) WITH ('connector' = 'file', 'path' = 'a')"
OUTPUT_CHANGES = [
    ("total DOUBLE,", "total DOUBLE, extra INT,", "sources orders columns extra is new: type int"),
    (_DELAY, _DELAY.replace("5", "9"), "sources orders watermark delay: 5s -> 9s"),
    ("'path' = 'out'", "'path' = 'new'", "output out sink path: out -> new"),
    (
        "'path' = 'out'",
        "'path' = 'out', 'format' = 'csv', 'header' = 'false'",
        "output out sink format is new: csv; output out sink header is new: false",
    ),
    (
        "s.carrier FROM",
        "s.carrier AS c FROM",
        "output out column carrier is gone; output out column c is new: expression `s`.`carrier`",
    ),
    (
        "'10'",
        "'10', 'state.on_limit' = 'evict'",
        "interval join limit on limit: fail -> evict",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), OUTPUT_CHANGES)
def test_change_that_only_output_depends_on_is_reported(old: str, new: str, sentence: str) -> None:
    assert changed(SQL, old, new) == []
    assert "; ".join(changed(SQL, old, new, "output")) == sentence


NATIVE = SQL.replace("'state.max_rows' = '10'", "'engine' = 'native'")


@pytest.mark.parametrize(("old", "new", "sentence"), OUTPUT_CHANGES[:2])
def test_operators_of_spark_depend_on_delays_and_all_columns(
    old: str, new: str, sentence: str
) -> None:
    found = sentence.replace("sources orders watermark delay", "watermark delay orders")
    assert changed(NATIVE, old, new) == [found]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [("'path' = 'a'", "'path' = 'b'", "path: a -> b"), ("'json'", "'csv'", "format: json -> csv")],
)
def test_the_sink_of_results_that_change_is_state(old: str, new: str, sentence: str) -> None:
    sink = "SINK out WITH ('connector' = 'file', 'path' = 'a', 'format' = 'json')"
    sql = CHANGING.replace("SINK out", sink)
    assert changed(sql, old, new) == [f"output out sink {sentence}"]


def test_a_stateless_query_depends_on_no_column() -> None:
    text = "SELECT order_id FROM orders WHERE total > 1"
    sql = SQL[: SQL.index("SELECT")] + text
    assert changed(sql, "order_id FROM orders WHERE", "total FROM orders WHERE") == []
    assert changed(sql, "total DOUBLE", "total INT") == []
    assert changed(sql, "total DOUBLE", "total INT", "output")[-1] == (
        "sources orders columns total type: double -> int"
    )


def test_removing_a_join_is_told_as_such() -> None:
    sentences = changed(SQL, SQL[SQL.index("SELECT") :], "SELECT * FROM orders")
    assert sorted(sentences) == [
        "engine: columnar -> native",
        "interval join is gone",
        "sources orders columns order id is gone",
        "sources orders columns t is gone",
        "sources orders columns total is gone",
        "sources shipments is gone",
    ]


WINDOWED = """
CREATE SOURCE orders (id STRING, total DOUBLE, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS
SELECT id, n FROM (SELECT id, _window_end, _window_start, COUNT(*) AS n FROM (
    SELECT DISTINCT ON (id) id, t FROM orders WITH ('state.ttl' = '1h')) d
  WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY id WITH ('late.policy' = 'drop')) c
QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY n) <= 3;
"""


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("<= 3", "<= 4", ["top n n: 3 -> 4"]),
        (
            "ORDER BY n)",
            "ORDER BY n DESC)",
            ["top n order descending: no -> yes", "top n order nulls first: yes -> no"],
        ),
        (
            "INTERVAL 1 HOUR",
            "INTERVAL 2 HOURS",
            ["aggregate window size: 1h -> 2h", "aggregate window slide: 1h -> 2h"],
        ),
        ("COUNT(*)", "COUNT(id)", ["aggregate calls a0 argument: none -> `d`.`id`"]),
        ("'1h'", "'2h'", ["deduplicate within: 1h -> 2h"]),
        ("'drop'", "'side_output'", ["aggregate input columns in state: none -> id, t"]),
        ("SELECT id, n FROM", "SELECT n, id FROM", []),
    ],
)
def test_change_of_any_operator_is_told(old: str, new: str, sentences: list[str]) -> None:
    assert changed(WINDOWED, old, new) == sentences


def test_two_operators_of_a_kind_are_told_apart() -> None:
    sql = """CREATE SOURCE orders (id STRING, t TIMESTAMP, WATERMARK FOR t AS t);
    CREATE SINK out AS SELECT n, COUNT(*) AS m FROM (SELECT id, COUNT(*) AS n FROM orders
      WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY id) x GROUP BY n WITH ('state.ttl' = '7d')"""
    assert changed(sql, "1 HOUR", "2 HOURS") == [
        "aggregate #2 window size: 1h -> 2h",
        "aggregate #2 window slide: 1h -> 2h",
    ]


CHANGING = """
CREATE SOURCE orders (id STRING, total DOUBLE, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS SELECT id, n FROM (SELECT id, COUNT(*) AS n FROM orders
  WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY id HAVING COUNT(*) > 1 EMIT CHANGES) x WHERE n > 2
"""


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("n > 2", "n > 3", ["output out where: `x`.`n` > 2 -> `x`.`n` > 3"]),
        (" WHERE n > 2", "", ["output out where: `x`.`n` > 2 -> none"]),
        ("COUNT(*) > 1", "COUNT(*) > 9", ["output out input where: `a0` > 1 -> `a0` > 9"]),
        (
            "SELECT id, n FROM",
            "SELECT id, n + 1 AS n FROM",
            ["output out column n expression: `x`.`n` -> `x`.`n` + 1"],
        ),
        ("SELECT id, n FROM", "SELECT id,   n  FROM", []),
    ],
)
def test_what_a_result_that_changes_shows_is_told(old: str, new: str, sentences: list[str]) -> None:
    assert changed(CHANGING, old, new) == sentences
    final = CHANGING.replace("EMIT CHANGES", "EMIT FINAL")
    assert changed(final, old, new) == []
    assert changed(final, old, new, "output") == sentences


def reworded(*_: Any, **__: Any) -> str:
    return "reworded"


WORDING: dict[str, Any] = dict.fromkeys(("name", "state", "describe", "label", "summary"), reworded)


def test_rewording_explain_changes_no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (SQL, WINDOWED, CHANGING)
    before = [query_identity(Query((build_job(text).pipelines[0],))) for text in texts]
    worded = [
        (module, name)
        for module in [each for key, each in sys.modules.items() if key.startswith("millstream.")]
        for name, value in vars(module).items()
        if isinstance(value, FunctionType)
        and value.__module__.startswith(("millstream.plan.explain.", "millstream.plan.document"))
        and value.__module__ != "millstream.plan.secrets"
    ]
    assert len(worded) > 20
    for module, name in worded:
        monkeypatch.setattr(module, name, reworded)
    for registry in (KINDS, JOINS, SINGLE_INPUT):
        for node, kind in registry.items():
            monkeypatch.setitem(registry, node, replace(kind, **WORDING))
    for value in (Window, Bounds):
        monkeypatch.setattr(value, "__str__", reworded)
        monkeypatch.setattr(value, "__repr__", reworded)
    assert [query_identity(Query((build_job(text).pipelines[0],))) for text in texts] == before


def test_no_secret_is_part_of_an_identity() -> None:
    sql = SQL.replace("'path' = 'out'", "'path' = 's3://me:hunter2@bucket/out'")
    text = json.dumps(query_identity(Query((build_job(sql).pipelines[0],))))
    assert "hunter2" not in text
    assert "s3://***@bucket/out" in text


def test_a_session_join_without_predicates_has_none_in_its_identity() -> None:
    start = SQL[: SQL.index("CREATE SINK")]
    sql = (
        f"{start} CREATE SINK out WITH ('connector' = 'console') AS "
        "SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id {} "
        "WINDOW SESSION(INTERVAL 5 MINUTES)"
    )
    (plain, one) = (
        query_identity(Query((build_job(sql.format(text)).pipelines[0],)))["state"]["operators"][0]
        for text in ("", "AND o.total > length(s.carrier)")
    )
    assert not {"across", "across_sql"} & plain.keys()
    assert {"across", "across_sql"} <= one.keys()
    before = sql.format("AND o.t < s.t")
    assert changed(before, "o.t < s.t", "o.t > s.t") == [
        "session join across op: < -> >",
        "session join across sql: `o`.`t` < `s`.`t` -> `o`.`t` > `s`.`t`",
    ]
