"""What joins of every kind become: their facts, their identities, their side outputs."""

from __future__ import annotations

import json

import pytest
from tests.golden.cases import HERE
from tests.plan.plans import SOURCES, job, plan

from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain_json
from millstream.plan.expressions import column
from millstream.plan.identity import query_identity
from millstream.plan.nodes import (
    Engine,
    Input,
    IntervalJoin,
    Key,
    Output,
    Pipeline,
    Query,
    RowsOver,
    Select,
    SinkDef,
    TemporalJoin,
)
from millstream.plan.nodes.traversal import inputs_of, operators_of, sources_of, with_sources
from millstream.state_format import describe_changes
from millstream.temporal import LateAction
from millstream.values import Direction, JoinType

RATES = """CREATE TABLE rates (currency STRING PRIMARY KEY, rate DOUBLE, op STRING, t TIMESTAMP,
  WATERMARK FOR t AS t) WITH ('connector' = 'file', 'path' = 'x', 'dead_letter.sink' = 'bad',
  'changelog.op' = 'op', 'idle.timeout' = '1m');
CREATE SINK bad; CREATE SINK late;
"""
TEMPORAL = """CREATE SINK out AS SELECT o.order_id, r.rate FROM orders o
  JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency"""
WINDOWED = """SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id
  WINDOW TUMBLING(INTERVAL 1 HOUR)"""


def test_a_table_is_a_source_with_the_policies_it_declares() -> None:
    plan = job(RATES + TEMPORAL)
    (rates,) = [s for s in sources_of(plan.pipelines[0].root) if s.name == "rates"]
    assert (rates.connector, rates.options) == ("file", (("path", "x"),))
    assert (rates.dead_letter, rates.idle) == ("bad", 60_000_000)


def test_every_join_of_a_chain_has_a_side_output_of_late_rows() -> None:
    plan = job(
        RATES
        + TEMPORAL.replace(
            "orders o", "orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id)"
        )
        + " WITH ('late.policy' = 'side_output', 'late.sink' = 'late')"
    )
    operators = operators_of(plan.pipelines[0].root)
    assert [type(each) for each in operators] == [TemporalJoin, IntervalJoin]
    assert {(each.late.action, each.late.sink) for each in operators} == {
        (LateAction.SIDE_OUTPUT, "late")
    }


def test_sources_below_both_sides_of_a_temporal_join_can_be_replaced() -> None:
    plan = with_sources(job(RATES + TEMPORAL), lambda source: SOURCES.get(source.name, source))
    (join,) = operators_of(plan.pipelines[0].root)
    assert isinstance(join, TemporalJoin)
    assert [side.alias for side in inputs_of(join)] == ["o", "r"]


def test_explain_json_contains_joins_of_all_kinds() -> None:
    file = HERE / "explain" / "joins.sql"
    facts = explain_json(build_job(file.read_text(encoding="utf-8")))
    assert json.loads(json.dumps(facts)) == facts
    chain, hourly, overlapping, nearest = (each["root"]["input"] for each in facts["pipelines"])
    assert (chain["kind"], chain["direction"], chain["tolerance_us"]) == (
        "temporal_join",
        "backward",
        None,
    )
    assert chain["sides"][0]["node"]["input"]["kind"] == "interval_join"
    assert hourly["kind"] == "rows_over"
    window = hourly["input"]["node"]["input"]
    assert (window["kind"], window["lateness_us"]) == ("window_join", 300_000_000)
    assert [each["slide_us"] for each in window["windows"]] == [1_800_000_000] * 2
    assert [side["progress"] for side in window["sides"]] == ["event_time"] * 2
    assert [each["kind"] for each in overlapping["windows"]] == ["tumbling", "sliding"]
    assert (nearest["direction"], nearest["tolerance_us"]) == ("nearest", 300_000_000)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("INTERVAL 1 HOUR", "INTERVAL 2 HOURS", "window join windows 1 size: 1h -> 2h"),
        ("HOUR)", "HOUR) WITH ('window.lateness' = '5m')", "window join lateness: 0s -> 5m"),
        ("o JOIN", "o LEFT JOIN", "window join type: inner -> left"),
    ],
)
def test_a_window_join_does_not_resume_from_a_different_one(
    before: str, after: str, change: str
) -> None:
    identities = [
        query_identity(Query((plan(text),)))["state"]
        for text in (WINDOWED, WINDOWED.replace(before, after))
    ]
    assert change in describe_changes(*identities)


@pytest.mark.parametrize(
    ("more", "change"),
    [
        ("WITH ('temporal.tolerance' = '5m')", "temporal join tolerance: none -> 5m"),
        (
            "WITH ('temporal.direction' = 'forward', 'temporal.tolerance' = '5m')",
            "temporal join direction: backward -> forward",
        ),
    ],
)
def test_a_temporal_join_does_not_resume_from_a_different_one(more: str, change: str) -> None:
    texts = (RATES + TEMPORAL, f"{RATES}{TEMPORAL} {more}")
    identities = [query_identity(Query((job(text).pipelines[-1],)))["state"] for text in texts]
    assert change in describe_changes(*identities)


def test_pairs_that_wait_for_their_window_need_no_partition_state() -> None:
    (waiting, _) = operators_of(plan(WINDOWED + " EMIT FINAL").root)
    assert isinstance(waiting, RowsOver)
    assert (waiting.calls, waiting.preceding, waiting.ttl) == ((), 0, None)


def test_python_may_join_versions_of_any_stream() -> None:
    left = Input("left", SOURCES["orders"], "event_time", 5_000_000, ("order_id",))
    right = Input("right", SOURCES["shipments"], "event_time", 10_000_000, ("carrier",))
    join = TemporalJoin(
        left,
        right,
        JoinType.LEFT,
        (Key(column("left", "order_id"), column("right", "order_id")),),
        Direction.NEAREST,
        60_000_000,
    )
    root = Select(join, (Output(column("left", "order_id"), "order_id"),))
    pipeline = Pipeline("result", root, SinkDef("result", "dataframe"))
    assert query_identity(Query((pipeline,)))["state"]["engine"] == Engine.COLUMNAR
