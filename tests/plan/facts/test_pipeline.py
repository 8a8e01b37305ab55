"""Facts that follow from a plan: holds, engines, strategies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.plan.plans import SOURCES, join_of, plan

from millstream.errors import PlanError
from millstream.plan.build.job import build_query
from millstream.plan.facts.pipeline import choose_engine, derive_pipeline_facts
from millstream.plan.facts.watermark_delay import result_time
from millstream.plan.kinds.base import Strategy
from millstream.plan.kinds.interval_join import Sides, sides_of
from millstream.plan.nodes import Engine, IntervalJoin, Source
from millstream.temporal import Watermark, parse_span


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
    facts = result_time(plan(bounded(how, lower, upper)).root)
    assert facts is not None
    assert facts.delay == parse_span(hold)


@pytest.mark.parametrize("how", ["", "RIGHT"])
@pytest.mark.parametrize(
    ("lower", "upper", "hold"),
    [("0s", "24h", "0s"), ("-5m", "5m", "5m"), ("-2h", "-1h", "2h"), ("1h", "2h", "0s")],
)
def test_right_time_is_held_back_by_the_lower_bound(
    how: str, lower: str, upper: str, hold: str
) -> None:
    facts = result_time(plan(bounded(how, lower, upper, "s.event_time")).root)
    assert facts is not None
    assert facts.delay == parse_span(hold)


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


def test_a_select_without_an_event_time_has_no_watermark_delay() -> None:
    assert result_time(plan("SELECT order_id FROM orders").root) is None


def sides(sql: str) -> Sides:
    join = join_of(sql)
    assert isinstance(join, IntervalJoin)
    return sides_of(join)


def test_each_side_expires_when_no_row_can_match_it() -> None:
    left, right = sides(bounded("", "-5m", "24h"))
    assert left.expiry == (
        "orders: when the watermark passes event_time + 1d; no later row can match"
    )
    assert right.expiry == (
        "shipments: when the watermark passes event_time + 5m; no later row can match"
    )
    assert (left.state_size, right.state_size) == (
        "the last 1d 5s of orders",
        "the last 5m 10s of shipments",
    )


def test_a_side_whose_matches_are_all_older_expires_before_its_own_time() -> None:
    left, _ = sides(bounded("", "-2h", "-1h"))
    assert left.expiry == (
        "orders: when the watermark passes event_time - 1h; no later row can match"
    )
    assert left.state_size == "the last 0s of orders"


def test_a_join_is_distributed_by_its_key_and_a_stateless_query_is_not() -> None:
    composite = (
        "SELECT o.total FROM orders o JOIN shipments s WITHIN 5 MINUTES "
        "ON o.order_id = s.order_id AND o.customer_id = s.carrier"
    )
    assert derive_pipeline_facts(plan(composite)).strategy == Strategy(
        "hash", "o.order_id = s.order_id and o.customer_id = s.carrier", 2
    )
    assert derive_pipeline_facts(plan("SELECT * FROM orders")).strategy == Strategy("passthrough")


USING = "WITHIN 1 HOUR USING (order_id)"
SPARK_ONLY = "WITHIN 1 HOUR ON o.order_id = s.order_id AND abs(o.total - s.weight) > 5"


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
    assert choose_engine(replace(plan(sql), engine=engine)) == (
        engine,
        "set by the property 'engine'",
    )


HOURLY = "WINDOW TUMBLING(INTERVAL 1 HOUR)"


@pytest.mark.parametrize(
    ("sql", "hold"),
    [
        (f"SELECT _event_time AS t FROM (SELECT count(*) AS n FROM orders {HOURLY}) x", "0s"),
        (f"SELECT _window_time AS t, count(*) AS n FROM orders {HOURLY}", "0s"),
        (
            f"SELECT _window_time AS t, count(*) AS n FROM orders {HOURLY} "
            "WITH ('window.lateness' = '7m')",
            "7m",
        ),
        ("SELECT DISTINCT event_time FROM orders WITH ('state.ttl' = '1d')", "0s"),
        (
            "SELECT DISTINCT event_time FROM orders WITH ('state.ttl' = '1d', "
            "'late.policy' = 'reassign', 'late.budget' = '9s')",
            "9s",
        ),
        (
            "SELECT event_time, count(*) OVER (ORDER BY event_time ROWS 1 PRECEDING) AS n "
            "FROM orders",
            "0s",
        ),
    ],
)
def test_results_lag_by_what_their_operator_waits_for(sql: str, hold: str) -> None:
    facts = result_time(plan(sql).root)
    assert facts is not None
    assert facts.delay == parse_span(hold)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM orders",
        "SELECT event_time FROM orders "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY total ORDER BY order_id) <= 1 "
        "WITH ('state.ttl' = '1d')",
        f"SELECT count(*) AS n, _window_time FROM orders {HOURLY} ON PROCTIME()",
    ],
)
def test_rows_that_may_go_at_any_time_have_no_event_time(sql: str) -> None:
    assert result_time(plan(sql).root) is None


@pytest.mark.parametrize(
    ("sql", "strategies"),
    [
        (f"SELECT count(*) AS n FROM orders {HOURLY}", ["two-phase"]),
        (f"SELECT total, count(*) AS n FROM orders {HOURLY} GROUP BY total", ["hash"]),
        ("SELECT order_id FROM orders QUALIFY ROW_NUMBER() OVER (ORDER BY total) <= 3", ["single"]),
        (
            "SELECT count(*) AS n FROM (SELECT DISTINCT order_id, event_time FROM orders "
            f"WITH ('state.ttl' = '1d')) x {HOURLY}",
            ["hash", "two-phase"],
        ),
    ],
)
def test_rows_are_spread_by_key_or_folded_first(sql: str, strategies: list[str]) -> None:
    assert [each.kind for each in derive_pipeline_facts(plan(sql)).strategies] == strategies


def test_ttl_determines_when_groups_expire() -> None:
    sql = "SELECT total, count(*) AS n FROM orders GROUP BY total WITH ('state.ttl' = '1d')"
    (facts,) = derive_pipeline_facts(plan(sql)).operators
    assert facts.expiry == (
        "a group when the watermark passes its last row + 1d ('state.ttl')",
        "a later row of the key starts a new group",
    )


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        (f"count(*) AS n FROM orders {HOURLY}", ""),
        (f"max_by(order_id, total) AS n FROM orders {HOURLY} OFFSET INTERVAL 1 MINUTE", ""),
        ("total, count(*) AS n FROM orders WINDOW SESSION(GAP INTERVAL 1 HOUR) GROUP BY total", ""),
        (f"last(total) AS n FROM orders {HOURLY}", "Spark's own last uses arrival order"),
        (f"approx_count_distinct(total) AS n FROM orders {HOURLY}", "uses another sketch"),
        (f"count(DISTINCT total) AS n FROM orders {HOURLY}", "Spark has no COUNT(DISTINCT …)"),
        (f"count(*) AS n FROM orders {HOURLY} ON PROCTIME()", "Spark's windows use event time"),
        (f"count(*) AS n FROM orders {HOURLY} EMIT CHANGES", "without the old values"),
        ("sum(total) OVER (ORDER BY event_time ROWS 1 PRECEDING) AS s FROM orders", "Spark has no"),
        ("DISTINCT user_id FROM clicks WITH ('state.ttl' = 'forever')", "Spark has no DISTINCT"),
    ],
)
def test_native_runs_what_spark_does_the_same(select: str, reason: str) -> None:
    pipeline = replace(plan(f"SELECT {select}"), engine=Engine.NATIVE)
    if not reason:
        assert choose_engine(pipeline) == (Engine.NATIVE, "set by the property 'engine'")
        return
    with pytest.raises(PlanError) as caught:
        choose_engine(pipeline)
    assert reason in caught.value.cause


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (replace(SOURCES["orders"], idle=1), "'idle.timeout'"),
        (
            replace(SOURCES["orders"], watermark=Watermark("event_time", 0, every=9)),
            "'watermark.every'",
        ),
    ],
)
def test_native_cannot_pass_over_sources_or_wait_for_rows(source: Source, reason: str) -> None:
    pipeline = build_query(f"SELECT count(*) AS n FROM orders {HOURLY}", {"orders": source})
    with pytest.raises(PlanError) as caught:
        choose_engine(replace(pipeline, engine=Engine.NATIVE))
    assert reason in caught.value.cause
