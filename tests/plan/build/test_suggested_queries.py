"""What an error advises can be planned, and says no more than the user may see."""

from __future__ import annotations

import re

import pytest
from tests.plan.plans import SOURCES, TABLES, error_of, plan

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Aggregate, SessionJoin, TableJoin, TopN
from millstream.plan.nodes.traversal import operators_of, table_joins_of
from millstream.values import JoinType

JOIN = "orders o JOIN shipments s ON o.order_id = s.order_id"


def below(sql: str) -> str:
    """The query that an error shows, with its join in a query in FROM."""
    found = re.search(r"subquery: (SELECT .*)\.$", error_of(sql))
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "window", ["TUMBLING(INTERVAL '1' HOUR)", "SESSION(GAP INTERVAL '1' HOUR)"]
)
def test_the_suggested_window_join_can_be_planned(window: str) -> None:
    advised = below(
        f"SELECT o.customer_id, count(*) AS n FROM {JOIN} WINDOW {window} GROUP BY o.customer_id"
    )
    aggregate = plan(advised.replace("…", "customer_id, count(*) AS n")).root.input
    assert isinstance(aggregate, Aggregate)
    assert aggregate.given is not None


def test_suggested_queries_rename_columns_with_one_name() -> None:
    advised = below(
        f"SELECT o.order_id, s.order_id, sum(s.weight) FROM {JOIN} "
        "AND s.event_time >= o.event_time WHERE s.weight > 1 "
        "WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY o.order_id, s.order_id"
    )
    planned = plan(advised.replace("…", "order_id, s_order_id, sum(weight)"))
    assert [output.name for output in planned.root.outputs] == [
        *("order_id", "s_order_id", "sum(weight)"),
    ]


def test_window_of_a_query_without_an_aggregate_applies_to_its_join() -> None:
    join = plan(f"SELECT o.total FROM {JOIN} WINDOW SESSION(GAP INTERVAL '1' HOUR)").root.input
    assert isinstance(join, SessionJoin)


def test_suggested_queries_do_not_show_values_of_variables() -> None:
    sql = (
        "SELECT count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id "
        "AND s.carrier = '${carrier}' WINDOW TUMBLING(INTERVAL '1' HOUR)"
    )
    table = (
        "SELECT o.total FROM orders o "
        "JOIN (SELECT id FROM customers WHERE region = '${carrier}') c ON o.customer_id = c.id"
    )
    within = (
        "SELECT total FROM orders WHERE customer_id IN "
        "(SELECT id FROM customers WHERE region = '${carrier}')"
    )
    for text in (sql, table, within):
        with pytest.raises(MillstreamError) as raised:
            build_job(
                f"CREATE SINK out AS {text}",
                variables={"carrier": "hidden"},
                sources=SOURCES,
                tables=TABLES,
            )
        assert "hidden" not in str(raised.value)


def test_the_suggested_filter_in_on_can_be_planned() -> None:
    text = error_of(
        "SELECT o.total FROM orders o LEFT JOIN (SELECT id FROM customers WHERE tier > 1) c "
        "ON o.customer_id = c.id"
    )
    advised = text.rsplit("ON: ", 1)[1].removesuffix(".")
    (join,) = table_joins_of(plan(f"SELECT o.total FROM orders o {advised}").root)
    assert [(each.column, each.op) for each in join.conditions] == [("tier", ">")]


@pytest.mark.parametrize(
    ("condition", "how"),
    [
        ("customer_id IN (SELECT id FROM customers)", JoinType.SEMI),
        ("customer_id NOT IN (SELECT id FROM customers WHERE tier > 1)", JoinType.ANTI),
        (
            "EXISTS (SELECT 1 FROM customers c WHERE c.id = orders.customer_id)",
            JoinType.SEMI,
        ),
        (
            "NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = orders.customer_id)",
            JoinType.ANTI,
        ),
    ],
)
def test_the_suggested_join_for_in_and_exists_can_be_planned(condition: str, how: JoinType) -> None:
    text = error_of(f"SELECT total FROM orders WHERE {condition}")
    found = re.search(r"Write (.*); a table needs no time bound\.", text)
    assert found is not None
    join = plan(f"SELECT total FROM orders {found[1]}").root.input
    assert isinstance(join, TableJoin)
    assert join.how is how


def test_the_suggested_first_row_by_two_columns_can_be_planned() -> None:
    text = error_of(
        "SELECT o.customer_id, max_by(o.order_id, struct(o.total, o.order_id)) AS best "
        "FROM orders o WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY o.customer_id"
    )
    found = re.search(r"ROW_NUMBER\(\) OVER \([^)]*\) = 1", text)
    assert found is not None
    sql = "SELECT customer_id, order_id AS best, _window_start FROM orders"
    root = plan(f"{sql} WINDOW TUMBLING(INTERVAL '1' HOUR) QUALIFY {found[0]}").root
    (top,) = operators_of(root)
    assert isinstance(top, TopN)
    assert [(str(order.expression), order.descending) for order in top.order] == [
        ("orders.total", True),
        ("orders.order_id", True),
    ]
