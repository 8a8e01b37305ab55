"""CROSS JOIN in windows: how it is planned, what `explain` warns of, and what is rejected."""

from __future__ import annotations

import pytest
from tests.plan.plans import error_of, job, plan

from millstream.errors import PlanError
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.facts.pipeline import choose_engine, derive_pipeline_facts
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import CrossJoin, WindowJoin
from millstream.plan.nodes.traversal import operators_of

HOURLY = "WINDOW TUMBLING(INTERVAL '1' HOUR)"
CROSS = "SELECT o.order_id, s.carrier FROM orders o CROSS JOIN shipments s"
IN_HOURS = CROSS.replace("orders o", f"orders o {HOURLY}")


def warning_of(sql: str) -> str:
    found = explain_json(job(f"CREATE SINK out WITH ('connector' = 'memory') AS {sql}"))
    warning: str = found["pipelines"][0]["root"]["input"]["warning"]
    return warning


@pytest.mark.parametrize(
    "sql",
    [
        f"{CROSS} {HOURLY}",
        f"{CROSS} WHERE o.total > s.weight {HOURLY}",
        f"{IN_HOURS} {HOURLY}",
    ],
    ids=["after the right stream", "after WHERE", "after both"],
)
def test_the_window_applies_to_both_sides_and_its_start_is_the_key(sql: str) -> None:
    (join,) = operators_of(plan(sql).root)
    assert isinstance(join, CrossJoin)
    assert [(str(key.left), str(key.right)) for key in join.keys] == [
        ("o._window_start", "s._window_start")
    ]
    assert join.windows[0] == join.windows[1]


def test_an_equality_in_where_makes_it_a_window_join() -> None:
    (join,) = operators_of(plan(f"{CROSS} WHERE o.order_id = s.order_id {HOURLY}").root)
    assert isinstance(join, WindowJoin)
    assert len(join.keys) == 2


def test_explain_warns_that_a_window_is_in_one_key_group() -> None:
    one = "one key group joins all rows of a window; 'join.salt' distributes them over several"
    assert warning_of(f"{CROSS} {HOURLY}") == one
    salted = f"{CROSS} {HOURLY} WITH ('join.salt' = '4')"
    assert warning_of(salted) is None
    text = explain(job(f"CREATE SINK out WITH ('connector' = 'memory') AS {CROSS} {HOURLY}"))
    assert "Cross join, inner: orders o, shipments s" in text
    assert "warning    one key group joins all rows of a window" in text


def test_the_columnar_engine_runs_it_and_state_expires_when_the_window_closes() -> None:
    planned = plan(f"{CROSS} {HOURLY}")
    assert choose_engine(planned)[0] == "columnar"
    (facts,) = derive_pipeline_facts(planned).operators
    assert facts.state_size == ("the last 1h 5s of orders and the last 1h 10s of shipments")
    assert "has no CROSS JOIN of two streams" in error_of(
        f"{CROSS} {HOURLY} WITH ('engine' = 'native')"
    )


def test_the_result_has_the_time_of_the_window() -> None:
    root = plan(
        f"SELECT o.order_id, _WINDOW_TIME FROM orders o CROSS JOIN shipments s {HOURLY}"
    ).root
    assert root.time == "_WINDOW_TIME"
    assert watermark_delay_of(root) == 0


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (
            CROSS,
            "MS-PLAN-CROSS-JOIN at line 1, column 44: a CROSS JOIN of streams without a WINDOW "
            "joins every row with every row, so its state would grow forever. Add WINDOW "
            "TUMBLING(…) or SLIDING(…), or write JOIN … ON with an equality of both sides.",
        ),
        (
            f"{CROSS} WINDOW SESSION(GAP INTERVAL '1' HOUR)",
            "MS-PLAN-CROSS-JOIN at line 1, column 44: session windows need a key, and a CROSS "
            "JOIN has none. Write WINDOW TUMBLING(…) or SLIDING(…), or JOIN … ON with an "
            "equality of both sides.",
        ),
        (
            f"{IN_HOURS} WINDOW TUMBLING(INTERVAL '2' HOURS)",
            "MS-PLAN-CROSS-JOIN at line 1, column 79: orders is in tumbling windows of 1h, "
            "shipments in tumbling windows of 2h, and a CROSS JOIN needs the same window on both "
            "sides. Use the same window for both.",
        ),
    ],
    ids=["no window", "sessions", "two windows"],
)
def test_a_cross_join_without_one_window_of_both_sides_is_rejected(sql: str, error: str) -> None:
    assert error_of(sql) == error


@pytest.mark.parametrize(
    ("join", "clause"),
    [
        ("LEFT CROSS JOIN shipments s", "LEFT"),
        ("FULL CROSS JOIN shipments s", "FULL"),
        ("CROSS JOIN shipments s ON o.order_id = s.order_id", "ON or USING"),
        ("CROSS JOIN shipments s USING (order_id)", "ON or USING"),
    ],
)
def test_a_cross_join_with_a_side_or_a_condition_is_rejected(join: str, clause: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(f"SELECT o.total FROM orders o {join} {HOURLY}")
    assert caught.value.code == "MS-PLAN-CROSS-JOIN"
    assert caught.value.cause == f"CROSS JOIN does not support {clause}."
