"""What follows from joins of sessions, regular joins and joins with tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.plan.plans import SOURCES, TABLES, job, plan

from millstream.errors import PlanError
from millstream.plan.build.job import build_query
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.facts.pipeline import choose_engine, derive_pipeline_facts
from millstream.plan.facts.watermark_delay import result_time, watermark_delay_of
from millstream.plan.identity import query_identity
from millstream.plan.kinds.base import Strategy
from millstream.plan.nodes import (
    Aggregate,
    Engine,
    Input,
    IntervalJoin,
    Pipeline,
    Query,
    RegularJoin,
    Select,
    SessionJoin,
    TableJoin,
)
from millstream.plan.nodes.traversal import (
    can_retract,
    inputs_of,
    operators_of,
    reference_tables_of,
    sources_of,
    table_joins_of,
    upstream_of,
    with_reference_tables,
    with_sources,
)
from millstream.state_format import describe_changes
from millstream.temporal import MICROS

SESSIONS = "WINDOW SESSION(GAP INTERVAL '10' MINUTES)"
LOOKUP = """SELECT o.order_id, o.event_time, c.region FROM orders o
JOIN customers c ON c.id = o.customer_id"""
CHAIN = """SELECT o.order_id, s.event_time, c.region, r.tax FROM orders o
JOIN customers c ON c.id = o.customer_id
JOIN shipments s ON s.order_id = o.order_id
  AND s.event_time BETWEEN o.event_time - INTERVAL 1 HOUR AND o.event_time + INTERVAL 2 HOURS
LEFT JOIN regions r ON r.region = s.carrier"""
COUNTS = """(SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES
  WITH ('state.ttl' = 'forever')) v"""


def test_a_table_join_is_not_an_operator_and_its_table_not_a_source() -> None:
    root = plan(CHAIN).root
    assert [type(node) for node in operators_of(root)] == [IntervalJoin]
    assert [join.table.name for join in table_joins_of(root)] == ["customers", "regions"]
    assert [source.name for source in sources_of(root)] == ["orders", "shipments"]
    assert [table.name for table in reference_tables_of(root)] == ["customers", "regions"]


def test_a_table_that_is_joined_twice_is_listed_once() -> None:
    twice = f"{LOOKUP} JOIN customers d ON d.id = o.order_id"
    found = job(f"CREATE SINK a AS {LOOKUP}; CREATE SINK b AS {twice}")
    assert [table.name for table in reference_tables_of(found)] == ["customers"]


def test_sources_and_tables_below_a_table_join_can_be_replaced() -> None:
    before = job(f"CREATE SINK a AS {CHAIN}")
    after = with_sources(before, lambda source: replace(source, connector="elsewhere"))
    assert {source.connector for source in sources_of(after.pipelines[0].root)} == {"elsewhere"}
    after = with_reference_tables(before, lambda table: replace(table, connector="memory"))
    assert {table.connector for table in reference_tables_of(after)} == {"memory"}
    assert sources_of(after.pipelines[0].root) == sources_of(before.pipelines[0].root)


def test_operators_below_a_table_join_are_found() -> None:
    root = plan(LOOKUP).root
    assert upstream_of(root) is sources_of(root)[0]
    assert watermark_delay_of(root) == 5 * MICROS["s"]
    hold = result_time(root)
    assert (hold.time, hold.delay) == ("event_time", 0) if hold else None


def test_a_table_join_passes_on_retractions() -> None:
    assert not can_retract(plan(LOOKUP).root)
    over_changes = f"SELECT v.n, t.tax FROM {COUNTS} JOIN taxes t ON t.region = v.customer_id"
    assert can_retract(plan(over_changes).root)


def test_the_event_time_above_a_table_join_has_the_delay_of_the_join_below() -> None:
    by_right = plan(CHAIN).root
    by_left = plan(CHAIN.replace("s.event_time, c.region", "o.event_time, c.region")).root
    for root, hold in ((by_right, MICROS["h"]), (by_left, 2 * MICROS["h"])):
        join = root.input
        assert isinstance(join, TableJoin)
        assert watermark_delay_of(root) == join.left.delay == hold


@pytest.mark.parametrize(
    ("sql", "hold"),
    [
        (f"SELECT _window_time FROM orders o JOIN shipments s USING (order_id) {SESSIONS}", 1),
        (
            f"SELECT _window_time FROM orders o FULL JOIN shipments s USING (order_id) {SESSIONS} "
            "WITH ('window.lateness' = '2s')",
            2 * MICROS["s"] + 1,
        ),
        (
            "SELECT o.event_time FROM orders o JOIN shipments s USING (order_id) "
            "WITH ('state.ttl' = '1h')",
            MICROS["h"],
        ),
        (
            "SELECT s.event_time FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) "
            "JOIN events e ON e.s = o.customer_id WITH ('state.ttl' = '1h')",
            MICROS["h"] + 5 * MICROS["m"],
        ),
    ],
)
def test_watermark_delay_of_results(sql: str, hold: int) -> None:
    found = result_time(plan(sql).root)
    assert found is not None
    assert found.delay == hold


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_a_session_join_without_windows_columns_still_has_their_time(how: str) -> None:
    inner = f"SELECT o.total FROM orders o {how} shipments s USING (order_id) {SESSIONS}"
    root = plan(f"SELECT count(*) AS n FROM ({inner}) v WINDOW TUMBLING(INTERVAL 1 HOUR)").root
    aggregate = root.input
    assert isinstance(aggregate, Aggregate)
    assert (aggregate.input.time, aggregate.input.delay) == ("_window_time", 1)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            f"SELECT o.total FROM orders o JOIN shipments s USING (order_id) {SESSIONS}",
            "Spark has no join of sessions",
        ),
        (
            "SELECT o.total FROM orders o JOIN shipments s USING (order_id) "
            "WITH ('state.ttl' = '1h')",
            "Spark has no join that expires rows by 'state.ttl' or retracts pairs",
        ),
        (
            "SELECT o.total FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) "
            "WITH ('join.salt' = '2')",
            "Spark distributes rows by their key only",
        ),
    ],
)
def test_queries_that_spark_cannot_run_use_the_columnar_engine(sql: str, reason: str) -> None:
    pipeline = plan(sql)
    assert choose_engine(pipeline)[0] is Engine.COLUMNAR
    with pytest.raises(PlanError) as caught:
        choose_engine(replace(pipeline, engine=Engine.NATIVE))
    assert caught.value.cause == f"the native engine cannot run this join: {reason}."


@pytest.mark.parametrize("engine", list(Engine))
def test_a_query_with_only_a_table_join_runs_on_either_engine(engine: Engine) -> None:
    choose_engine(replace(plan(LOOKUP), engine=engine))


def test_a_table_join_below_an_operator_runs_on_the_columnar_engine() -> None:
    counted = f"SELECT region, count(*) AS n FROM ({LOOKUP}) r WINDOW TUMBLING(INTERVAL 1 HOUR)"
    pipeline = plan(f"{counted} GROUP BY region")
    assert choose_engine(pipeline)[0] is Engine.COLUMNAR
    with pytest.raises(PlanError, match="do not pass on the rejected rows of a table join"):
        choose_engine(replace(pipeline, engine=Engine.NATIVE))


def test_distribution_strategy_of_every_step() -> None:
    facts = derive_pipeline_facts(plan(CHAIN))
    assert facts.strategies == (
        Strategy("passthrough"),
        Strategy("hash", "o_c.order_id = s.order_id", 2),
        Strategy("broadcast", "regions"),
    )
    assert [each.join.table.name for each in facts.tables] == ["customers", "regions"]
    over = derive_pipeline_facts(
        plan(
            "SELECT o.total FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) "
            "JOIN events e WITHIN 5 MINUTES ON e.s = o.customer_id"
        )
    )
    assert [each.kind for each in over.strategies] == ["hash", "repartition"]


@pytest.mark.parametrize(
    ("sql", "sentences"),
    [
        (LOOKUP, []),  # no state
        (
            f"SELECT r.order_id FROM ({LOOKUP}) r JOIN shipments s WITHIN 1 HOUR USING (order_id)",
            [
                "interval join left node input conditions: none -> column tier, op >=, values 2",
                "interval join left node input keys left: "
                "`o`.`customer_id` -> concat(`o`.`customer_id`, '!')",
            ],
        ),
    ],
)
def test_columns_of_a_table_join_that_are_in_state_above_it(sql: str, sentences: list[str]) -> None:
    other = sql.replace("c.id = o.customer_id", "c.id = concat(o.customer_id, '!') AND c.tier >= 2")
    found = describe_changes(state_of(plan(sql)), state_of(plan(other)))
    assert sorted(found) == sorted(sentences)


def test_lookup_properties_may_change_between_runs() -> None:
    joined = f"SELECT r.order_id FROM ({LOOKUP}) r JOIN shipments s WITHIN 1 HOUR USING (order_id)"
    customers = TABLES["customers"]
    moved = replace(customers, options=(("url", "postgresql://other/shop"),))
    later = build_query(joined, SOURCES, tables={**TABLES, "customers": moved})
    assert describe_changes(state_of(plan(joined)), state_of(later)) == []


def state_of(pipeline: Pipeline) -> dict[str, Any]:
    found: dict[str, Any] = query_identity(Query((pipeline,)))["state"]
    return found


REGULAR = "SELECT o.total FROM orders o JOIN shipments s USING (order_id) WITH ('state.ttl' = '1h')"
SESSION = f"SELECT o.total FROM orders o JOIN shipments s USING (order_id) {SESSIONS}"


@pytest.mark.parametrize(
    ("sql", "old", "new", "change"),
    [
        (REGULAR, "'1h'", "'2h'", "regular join ttl: 1h -> 2h"),
        (REGULAR, "o JOIN", "o LEFT SEMI JOIN", "regular join type: inner -> semi"),
        (SESSION, "'10'", "'20'", "session join gap: 10m -> 20m"),
        (SESSION, "MINUTES)", "MINUTES) EMIT CHANGES", "session join emit: final -> changes"),
        (
            SESSION,
            "MINUTES)",
            "MINUTES) WITH ('window.lateness' = '1m')",
            "session join lateness: 0s -> 1m",
        ),
        (
            "SELECT o.total FROM orders o JOIN shipments s WITHIN 1 HOUR USING (order_id)",
            "(order_id)",
            "(order_id) WITH ('join.salt' = '2')",
            "interval join salt: 1 -> 2",
        ),
    ],
)
def test_changes_of_a_join_are_described(sql: str, old: str, new: str, change: str) -> None:
    found = describe_changes(state_of(plan(sql)), state_of(plan(sql.replace(old, new))))
    assert found == [change]


def test_session_and_regular_joins_have_two_inputs() -> None:
    for sql, kind in ((REGULAR, RegularJoin), (SESSION, SessionJoin)):
        (operator,) = operators_of(plan(sql).root)
        assert isinstance(operator, kind)
        assert [side.alias for side in inputs_of(operator)] == ["o", "s"]


def test_explain_json_contains_session_regular_and_table_joins() -> None:
    facts = explain_json(
        job(f"CREATE SINK a AS {CHAIN}; CREATE SINK b AS {REGULAR}; CREATE SINK c AS {SESSION}")
    )
    assert json.loads(json.dumps(facts)) == facts
    assert [table["name"] for table in facts["tables"]] == ["customers", "regions"]
    lookups, regular, sessions = (each["root"]["input"] for each in facts["pipelines"])
    assert (lookups["kind"], lookups["table"]["refresh_us"]) == ("broadcast_join", 600_000_000)
    below = lookups["left"]["node"]["input"]["sides"][0]["node"]["input"]
    assert (below["kind"], below["table"]["mode"]) == ("lookup_join", "lookup")
    assert below["table"]["cache_rows"] == 100_000
    assert (regular["kind"], regular["ttl_us"]) == ("regular_join", 3_600_000_000)
    assert (sessions["kind"], sessions["gap_us"]) == ("session_join", 600_000_000)
    assert sessions["emit"] == "final"


def test_no_secret_of_a_table_is_explained() -> None:
    secret = replace(
        TABLES["customers"],
        options=(("url", "postgresql://me:hid@db/x?sslpassword=hid"), ("password", "hid")),
    )
    pipeline = build_query(LOOKUP, SOURCES, tables={"customers": secret})
    found = replace(job(f"CREATE SINK a AS {LOOKUP}"), pipelines=(pipeline,))
    for text in (explain(found), json.dumps(explain_json(found))):
        assert "hid" not in text.replace("is hidden", "")
        assert "postgresql://***@db/x?sslpassword=***" in text


def test_a_declared_table_has_precedence_over_a_passed_one() -> None:
    columns = "id STRING, name STRING"
    text = f"CREATE TABLE customers ({columns}) WITH ('connector' = 'sqlite', 'path' = 'a')"
    own = job(f"{text}; CREATE SINK a AS {LOOKUP.replace('c.region', 'c.name')}")
    assert [table.connector for table in reference_tables_of(own)] == ["sqlite"]


def test_a_table_join_uses_the_event_time_of_its_input() -> None:
    join = plan(LOOKUP).root.input
    assert isinstance(join, TableJoin)
    assert join.left == Input(
        "o", SOURCES["orders"], "event_time", 5 * MICROS["s"], ("order_id", "event_time")
    )
    assert isinstance(plan(LOOKUP).root, Select)
