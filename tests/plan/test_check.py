"""Facts that follow from a plan: holds, engines, strategies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.plan.plans import join_of, plan

from millstream.plan.check import Strategy, check_pipeline, choose_engine, hold_of, join_facts
from millstream.plan.nodes import Engine
from millstream.temporal import parse_span


def bounded(how: str, lower: str, upper: str, columns: str = "o.event_time") -> str:
    return (
        f"SELECT {columns} FROM orders o {how} JOIN shipments s ON o.order_id = s.order_id "
        f"WITH ('join.lower_bound' = '{lower}', 'join.upper_bound' = '{upper}')"
    )


@pytest.mark.parametrize("how", ["", "LEFT", "LEFT SEMI", "LEFT ANTI"])
@pytest.mark.parametrize(
    ("lower", "upper", "hold"),
    [("0s", "24h", "24h"), ("-5m", "5m", "5m"), ("-2h", "-1h", "0s"), ("1h", "2h", "2h")],
)
def test_left_time_is_held_back_by_the_upper_bound(
    how: str, lower: str, upper: str, hold: str
) -> None:
    facts = hold_of(plan(bounded(how, lower, upper)).root)
    assert facts is not None
    assert facts.hold == parse_span(hold)


@pytest.mark.parametrize("how", ["", "RIGHT"])
@pytest.mark.parametrize(
    ("lower", "upper", "hold"),
    [("0s", "24h", "0s"), ("-5m", "5m", "5m"), ("-2h", "-1h", "2h"), ("1h", "2h", "0s")],
)
def test_right_time_is_held_back_by_the_lower_bound(
    how: str, lower: str, upper: str, hold: str
) -> None:
    facts = hold_of(plan(bounded(how, lower, upper, "s.event_time")).root)
    assert facts is not None
    assert facts.hold == parse_span(hold)


def test_hold_is_enough_and_no_more_for_every_order_of_arrival() -> None:
    """All that can still come out after watermark W, by hand, for small times and bounds."""
    for lower in range(-3, 4):
        for upper in range(lower, 4):
            watermark = 10
            pairs = [
                (left, right)
                for left in range(25)
                for right in range(left + lower, left + upper + 1)
                if left >= watermark or right >= watermark  # the later one has yet to arrive
            ]
            unmatched_left = [t for t in range(25) if t + upper >= watermark]
            unmatched_right = [t for t in range(25) if t - lower >= watermark]
            least_left = min([left for left, _ in pairs] + [watermark])
            least_right = min([right for _, right in pairs] + [watermark])
            assert least_left == watermark - max(upper, 0)
            assert least_right == watermark - max(-lower, 0)
            assert min(*unmatched_left, watermark) == least_left
            assert min(*unmatched_right, watermark) == least_right


def test_a_select_without_an_event_time_has_no_hold() -> None:
    assert hold_of(plan("SELECT order_id FROM orders").root) is None


def test_each_side_is_held_until_no_partner_can_come() -> None:
    facts = join_facts(join_of(bounded("", "-5m", "24h")))
    assert facts.left.why == (
        "orders rows are held until the watermark passes event_time + 1d, "
        "the last time a partner can carry"
    )
    assert facts.right.why == (
        "shipments rows are held until the watermark passes event_time + 5m, "
        "the last time a partner can carry"
    )
    assert (facts.left.state, facts.right.state) == (
        "rows of 1d 5s of orders",
        "rows of 5m 10s of shipments",
    )


def test_a_side_whose_partners_are_all_older_is_let_go_before_its_own_time() -> None:
    facts = join_facts(join_of(bounded("", "-2h", "-1h")))
    assert facts.left.why == (
        "orders rows are held until the watermark passes event_time - 1h, "
        "the last time a partner can carry"
    )
    assert facts.left.state == "rows of 0s of orders"


def test_a_join_is_spread_by_its_key_and_a_plain_query_not_at_all() -> None:
    composite = (
        "SELECT o.total FROM orders o JOIN shipments s WITHIN 5 MINUTES "
        "ON o.order_id = s.order_id AND o.customer_id = s.carrier"
    )
    assert check_pipeline(plan(composite)).strategy == Strategy(
        "hash", "o.order_id = s.order_id and o.customer_id = s.carrier"
    )
    assert check_pipeline(plan("SELECT * FROM orders")).strategy == Strategy("passthrough")


USING = "WITHIN 1 HOUR USING (order_id)"
SPARK_ONLY = "WITHIN 1 HOUR ON o.order_id = s.order_id AND o.total + s.weight > 5"


@pytest.mark.parametrize(
    ("sql", "engine"),
    [
        (f"SELECT o.total FROM orders o JOIN shipments s {USING}", "columnar"),
        (f"SELECT o.total FROM orders o LEFT JOIN shipments s {USING}", "columnar"),
        (f"SELECT o.total FROM orders o JOIN shipments s {SPARK_ONLY}", "columnar"),
        (f"SELECT o.total FROM orders o LEFT JOIN shipments s {SPARK_ONLY}", "native"),
        (f"SELECT o.total FROM orders o LEFT SEMI JOIN shipments s {SPARK_ONLY}", "native"),
        ("SELECT * FROM orders", "native"),
    ],
)
def test_engine_is_chosen_by_what_can_run_the_plan(sql: str, engine: str) -> None:
    assert choose_engine(plan(sql))[0] == engine


@pytest.mark.parametrize("engine", [Engine.COLUMNAR, Engine.NATIVE])
@pytest.mark.parametrize("how", ["", "LEFT", "RIGHT", "FULL"])
def test_both_engines_run_ordinary_joins(engine: Engine, how: str) -> None:
    sql = f"SELECT o.total FROM orders o {how} JOIN shipments s WITHIN 1 HOUR USING (order_id)"
    assert choose_engine(replace(plan(sql), engine=engine)) == (engine, "asked for by 'engine'")
