"""What a checkpoint depends on, and how a change is told."""

from __future__ import annotations

import json

import pytest

from millstream.plan.build import build_job
from millstream.plan.facts.fingerprint import diff, fingerprint

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


def changed(old: str, new: str) -> list[str]:
    """The sentences about a job in which one text is replaced."""
    assert old in SQL
    first, second = (
        fingerprint(build_job(text).pipelines[0]) for text in (SQL, SQL.replace(old, new))
    )
    return diff(json.loads(json.dumps(first)), second)


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("24 HOURS", "48 HOURS", ["join bound: [0s, 1d] -> [0s, 2d]"]),
        ("o JOIN", "o LEFT JOIN", ["join type: inner -> left"]),
        ("o.total > 1", "o.total > 2", ["join left filter: o.total > 1 -> o.total > 2"]),
        ("total DOUBLE", "total INT", ["source orders column total: DOUBLE -> INT"]),
        (
            "total DOUBLE,",
            "total DOUBLE, extra INT,",
            ["source orders column extra is new: INT"],
        ),
        (
            "WATERMARK FOR t AS t - INTERVAL 5 SECONDS) WITH ('connector' = 'file', 'path' = 'a')",
            "WATERMARK FOR t AS t - INTERVAL 9 SECONDS) WITH ('connector' = 'file', 'path' = 'a')",
            ["source orders watermark: t - 5s -> t - 9s", "join left delay: 5s -> 9s"],
        ),
        (
            "s.carrier FROM",
            "s.carrier, o.total FROM",
            ["join left columns held: order_id -> order_id, total"],
        ),
        (
            "o.order_id = s.order_id",
            "o.order_id = lower(s.order_id)",
            ["join key: o.order_id = s.order_id -> o.order_id = lower(s.order_id)"],
        ),
        ("'10'", "'11'", []),  # a job that hit its limit goes on with a higher one
        ("WITH ('state", "WITH ('engine' = 'columnar', 'state", []),
        ("'path' = 'out'", "'path' = 'new'", ["sink path: out -> new"]),
        (
            "o.total > 1",
            "o.total > s.carrier",
            [
                "join left filter: o.total > 1 -> none",
                "join left columns held: order_id -> order_id, total",
                "join predicate: none -> o.total > s.carrier",
                "join kernel predicate: none -> o.total > s.carrier",
            ],
        ),
    ],
)
def test_change_that_state_depends_on_is_told(old: str, new: str, sentences: list[str]) -> None:
    assert changed(old, new) == sentences


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("o.order_id AS id", "upper(o.order_id) AS name"),
        ("'path' = 'a'", "'path' = 'moved'"),
        ("\nSELECT", "\n\n  SELECT"),
    ],
)
def test_change_that_state_does_not_depend_on_is_none(old: str, new: str) -> None:
    assert changed(old, new) == []


def test_removing_a_join_is_told_as_such() -> None:
    old = fingerprint(build_job(SQL).pipelines[0])
    simple = SQL[: SQL.index("SELECT")] + "SELECT * FROM orders"
    sentences = diff(old, fingerprint(build_job(simple).pipelines[0]))
    assert sentences[:2] == ["engine: columnar -> native", "source shipments is gone"]
    assert sentences[2].startswith("join: type inner, key o.order_id = s.order_id, ")
    assert sentences[2].endswith(" -> none")


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
        ("ORDER BY n)", "ORDER BY n DESC)", ["top n order: c.n ASC -> c.n DESC"]),
        (
            "INTERVAL 1 HOUR",
            "INTERVAL 2 HOURS",
            ["aggregate window: tumbling windows of 1h -> tumbling windows of 2h"],
        ),
        ("COUNT(*)", "COUNT(id)", ["aggregate calls: count(*) AS a0 -> count(d.id) AS a0"]),
        ("'1h'", "'2h'", ["deduplicate within: 1h -> 2h"]),
        ("'drop'", "'side_output'", ["aggregate columns held: none -> id, t"]),
        ("SELECT id, n FROM", "SELECT n, id FROM", []),
    ],
)
def test_change_of_any_operator_is_told(old: str, new: str, sentences: list[str]) -> None:
    assert old in WINDOWED
    before, after = (
        fingerprint(build_job(text).pipelines[0]) for text in (WINDOWED, WINDOWED.replace(old, new))
    )
    assert diff(json.loads(json.dumps(before)), after) == sentences


def test_two_operators_of_a_kind_are_told_apart() -> None:
    sql = """CREATE SOURCE orders (id STRING, t TIMESTAMP, WATERMARK FOR t AS t);
    CREATE SINK out AS SELECT n, COUNT(*) AS m FROM (SELECT id, COUNT(*) AS n FROM orders
      WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY id) x GROUP BY n WITH ('state.ttl' = '7d')"""
    before, after = (
        fingerprint(build_job(text).pipelines[0])
        for text in (sql, sql.replace("1 HOUR", "2 HOURS"))
    )
    assert diff(before, after) == [
        "aggregate #2 window: tumbling windows of 1h -> tumbling windows of 2h"
    ]


CHANGING = """
CREATE SOURCE orders (id STRING, total DOUBLE, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS SELECT id, n FROM (SELECT id, COUNT(*) AS n FROM orders
  WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY id HAVING COUNT(*) > 1 EMIT CHANGES) x WHERE n > 2
"""


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("n > 2", "n > 3", ["result where: x.n > 2 -> x.n > 3"]),
        (" WHERE n > 2", "", ["result where: x.n > 2 -> none"]),
        ("COUNT(*) > 1", "COUNT(*) > 9", ["result of where: a0 > 1 -> a0 > 9"]),
        (
            "SELECT id, n FROM",
            "SELECT id, n + 1 AS n FROM",
            ["result columns: x.id AS id, x.n AS n -> x.id AS id, x.n + 1 AS n"],
        ),
        ("SELECT id, n FROM", "SELECT id,   n  FROM", []),
    ],
)
def test_what_a_result_that_changes_shows_is_told(old: str, new: str, sentences: list[str]) -> None:
    assert old in CHANGING
    before, after = (
        fingerprint(build_job(text).pipelines[0]) for text in (CHANGING, CHANGING.replace(old, new))
    )
    assert diff(json.loads(json.dumps(before)), after) == sentences
    final = CHANGING.replace("EMIT CHANGES", "EMIT FINAL")
    stay = [fingerprint(build_job(text).pipelines[0]) for text in (final, final.replace(old, new))]
    assert diff(stay[0], stay[1]) == []
