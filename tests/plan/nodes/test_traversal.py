"""Ways through a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.plan.plans import job, plan

from millstream.plan.nodes import Aggregate, Deduplicate, TopN
from millstream.plan.nodes.traversal import (
    can_retract,
    nodes_of,
    operators_of,
    sources_of,
    with_sources,
)


def test_a_source_that_is_read_twice_is_named_once() -> None:
    sql = "SELECT a.total FROM orders a JOIN orders b WITHIN 1 HOUR USING (order_id)"
    assert [source.name for source in sources_of(plan(sql).root)] == ["orders"]


def test_every_source_of_a_job_can_be_replaced() -> None:
    before = job(
        """CREATE STREAM v AS SELECT * FROM orders;
        CREATE SINK one AS SELECT * FROM v;
        CREATE SINK two AS SELECT v.total FROM v JOIN shipments s WITHIN 1 HOUR USING (order_id)"""
    )
    after = with_sources(before, lambda source: replace(source, connector="elsewhere"))
    for old, new in zip(before.pipelines, after.pipelines, strict=True):
        assert {source.connector for source in sources_of(new.root)} == {"elsewhere"}
        kinds = [[type(node) for node in nodes_of(p.root)] for p in (old, new)]
        assert kinds[0] == kinds[1]


TOP_OF_COUNTS = """SELECT n FROM (
  SELECT customer_id, _window_start, _window_end, count(*) AS n FROM
    (SELECT DISTINCT ON (order_id) customer_id, event_time FROM orders WITH ('state.ttl' = '1h')) d
  WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) c
QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY n DESC) <= 3"""


def test_operators_are_found_from_the_sink_down() -> None:
    root = plan(TOP_OF_COUNTS).root
    assert [type(node) for node in operators_of(root)] == [TopN, Aggregate, Deduplicate]


def test_sources_below_operators_can_be_replaced() -> None:
    before = job(f"CREATE SINK a AS {TOP_OF_COUNTS}")
    after = with_sources(before, lambda source: replace(source, connector="elsewhere"))
    old, new = (each.pipelines[0].root for each in (before, after))
    assert [source.connector for source in sources_of(new)] == ["elsewhere"]
    assert [type(node) for node in nodes_of(old)] == [type(node) for node in nodes_of(new)]


@pytest.mark.parametrize(
    ("sql", "taken_back"),
    [
        ("SELECT order_id FROM orders", False),
        ("SELECT count(*) AS n FROM orders", True),
        ("SELECT n FROM (SELECT count(*) AS n FROM orders) x WHERE n > 1", True),
        ("SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)", False),
        (
            "SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) "
            "WITH ('window.lateness' = '1m')",
            True,
        ),
        (TOP_OF_COUNTS, False),
    ],
)
def test_a_select_takes_rows_back_if_its_operator_does(sql: str, taken_back: bool) -> None:
    assert can_retract(plan(sql).root) is taken_back
