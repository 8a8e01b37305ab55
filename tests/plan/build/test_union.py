"""UNION ALL: columns, event time, errors, and the branches that operators and pipelines read."""

from __future__ import annotations

import pytest
from tests.plan.plans import job

from millstream.errors import MillstreamError
from millstream.observe.operator_names import names_of
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.facts.output_groups import query_operators
from millstream.plan.facts.union import physical_inputs, union_of
from millstream.plan.identity import query_identity
from millstream.plan.nodes import Job, Operator, Select, Source
from millstream.plan.nodes.traversal import sources_of
from millstream.plan.union_types import common_type

BOTH = """
CREATE STREAM times AS
  SELECT order_id, total, event_time FROM orders WHERE total > 0
  UNION ALL
  SELECT shipment_id, weight, event_time FROM shipments;
"""
OUT = "CREATE SINK out AS "


def planned(query: str) -> Job:
    return job(BOTH + OUT + query)


def error_of(sql: str) -> str:
    with pytest.raises(MillstreamError) as caught:
        job(sql)
    return str(caught.value)


def operators(found: Job) -> tuple[Operator, ...]:
    return tuple(each for query in group_into_queries(found) for each in query_operators(query))


def test_each_branch_is_an_input_of_the_operator_with_its_own_name_and_delay() -> None:
    found = planned(
        "SELECT t.order_id, e.id FROM times t JOIN events e ON t.order_id = e.s "
        "AND e.t BETWEEN t.event_time AND t.event_time + INTERVAL 1 HOUR"
    )
    (join,) = operators(found)
    inputs = physical_inputs(join)
    assert [[source.name for source in sources_of(each.node)] for each in inputs] == [
        ["orders"],
        ["shipments"],
        ["events"],
    ]
    assert [each.delay for each in inputs] == [5_000_000, 10_000_000, 0]
    assert {each.time for each in inputs[:2]} == {"event_time"}
    assert {each.alias for each in inputs[:2]} == {"t"}
    (names,) = names_of(group_into_queries(found)[0])
    assert names.inputs == ("t", "events")
    assert names.derived == (True, False)
    assert names.physical == ("orders", "shipments", "events")


def test_the_steps_above_a_union_are_in_its_branches() -> None:
    found = planned(
        "SELECT _WINDOW_START, count(*) AS n FROM (SELECT total * 2 AS x, event_time FROM times "
        "WHERE order_id <> 'A') WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY _WINDOW_START"
    )
    (aggregate,) = operators(found)
    (side,) = (aggregate.input,)  # type: ignore[union-attr]
    union = union_of(side.node)
    assert union is not None
    assert [str(each.where) for each in union.inputs] == ["times.order_id <> 'A'"] * 2
    assert union.time == "event_time"


def test_a_union_without_an_operator_is_a_pipeline_for_each_branch() -> None:
    found = planned("SELECT order_id, total + 1 AS more FROM times")
    assert [each.branch for each in found.pipelines] == [(1, 2), (2, 2)]
    assert [each.sink.name for each in found.pipelines] == ["out", "out"]
    (query,) = group_into_queries(found)
    assert query.output_names == ("out", "out 2")
    assert [source.name for each in found.pipelines for source in sources_of(each.root)] == [
        "orders",
        "shipments",
    ]
    assert "query 2 of 2 of a UNION ALL" in explain(found)


def test_unions_of_unions_are_one_union() -> None:
    found = job(
        BOTH + OUT + "SELECT DISTINCT ON (order_id) * FROM (WITH more AS (SELECT s, c, t FROM "
        "events) (SELECT * FROM times) UNION ALL (SELECT * FROM more UNION ALL SELECT 'x', 1.5D, "
        "event_time FROM orders)) WITH ('state.ttl' = '1 day')"
    )
    (operator,) = operators(found)
    names = [sources_of(each.node)[0].name for each in physical_inputs(operator)]
    assert names == ["orders", "shipments", "events", "orders"]
    (described,) = names_of(group_into_queries(found)[0])
    assert len(set(described.physical)) == 4, "names of inputs are unique"


def test_branches_with_operators_and_table_joins() -> None:
    found = job(
        OUT + "SELECT DISTINCT ON (k) k, n FROM (SELECT u.k, u.n, u.t, c.tier FROM ("
        "SELECT k, n, _EVENT_TIME AS t FROM (SELECT customer_id AS k, count(*) AS n "
        "FROM orders "
        "WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT FINAL) "
        "UNION ALL SELECT s, id, t FROM events) u JOIN customers c ON u.k = c.id) "
        "WITH ('state.ttl' = '1 day')"
    )
    first, second = operators(found)
    assert [type(each).__name__ for each in (first, second)] == ["Deduplicate", "Aggregate"]
    names = names_of(group_into_queries(found)[0])
    assert names[0].branches[0][0][1] is True, "the first branch is the result of an operator"
    assert names[0].branches[0][1] == ("events", False)


def test_explain_shows_the_branches() -> None:
    found = planned("SELECT DISTINCT ON (order_id) order_id FROM times WITH ('state.ttl' = '1h')")
    text = explain(found)
    assert "Union all as times" in text
    assert "event_time; watermark is the minimum over the branches" in text
    root = explain_json(found)["pipelines"][0]["root"]
    union = root["input"]["input"]["node"]
    assert (union["kind"], len(union["branches"])) == ("union_all", 2)


def test_the_branches_are_part_of_the_identity_of_the_state() -> None:
    query = "SELECT DISTINCT ON (order_id) order_id FROM times WITH ('state.ttl' = '1h')"
    other = BOTH.replace("total > 0", "total > 1")
    one, two = (group_into_queries(each)[0] for each in (planned(query), job(other + OUT + query)))
    assert query_identity(one)["state"] != query_identity(two)["state"]


def test_numbers_are_widened() -> None:
    found = job(OUT + "SELECT a, c FROM events UNION ALL SELECT id, b FROM events")
    assert [column.type for column in found.pipelines[0].root.columns] == ["BIGINT", "DOUBLE"]
    assert "CAST" in explain(found)


@pytest.mark.parametrize(
    ("types", "common"),
    [
        (["INT", "integer"], "int"),
        (["tinyint", "BIGINT", "int"], "bigint"),
        (["bigint", "float"], "double"),
        (["float", "float"], "float"),
        (["int", "decimal(5, 2)"], "decimal(12,2)"),
        (["decimal(10,0)", "decimal(5, 4)"], "decimal(14,4)"),
        (["decimal(38,10)", "decimal(38,0)"], "decimal(38,10)"),
        (["decimal(5,2)", "double"], "double"),
        (["void", "string"], "string"),
        (["string", "int"], None),
        (["date", "timestamp"], None),
        (["array<int>", "array<int>"], "array<int>"),
    ],
)
def test_the_common_type(types: list[str], common: str | None) -> None:
    assert common_type(types) == common
    assert common_type(types[::-1]) == common


def test_the_event_time_is_a_column_that_is_the_event_time_of_every_branch() -> None:
    stream = "CREATE STREAM u AS SELECT t, id FROM events UNION ALL SELECT {} FROM events;"
    same, other = (job(stream.format(each) + OUT + "SELECT * FROM u") for each in ("t, a", "t, 1"))
    assert [each.pipelines[0].root.time for each in (same, other)] == ["t", "t"]
    wrong = job(stream.format("CAST(d AS TIMESTAMP), a") + OUT + "SELECT * FROM u")
    union = job(
        stream.format("t, a") + OUT + "SELECT count(*) AS n FROM u WINDOW TUMBLING(INTERVAL 1 HOUR)"
    )
    assert wrong.pipelines[1].root.time is None
    assert len(physical_inputs(operators(union)[0])) == 2
    assert error_of(
        stream.format("CAST(d AS TIMESTAMP), a")
        + OUT
        + "SELECT count(*) AS n FROM u WINDOW TUMBLING(INTERVAL 1 HOUR)"
    ) == (
        "MS-PLAN-NO-WATERMARK at line 1, column 143: u has no event time: the queries of its "
        "UNION ALL have "
        "none in common. Select the event time of each query at the same position, unchanged."
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT a FROM events UNION SELECT b FROM events",
            "MS-PLAN-UNION at line 1, column 54: UNION removes duplicates, which needs every "
            "row in state. "
            "Write UNION ALL, and SELECT DISTINCT over it if duplicates must be removed.",
        ),
        (
            "SELECT a, b FROM events UNION ALL SELECT a FROM events",
            "MS-PLAN-UNION at line 1, column 61: the first query of the UNION ALL has 2 "
            "columns, and this one "
            "has 1 column. Select a, b, or NULL AS a column that is missing.",
        ),
        (
            "SELECT a, b FROM events UNION ALL\nSELECT id, s FROM events",
            "MS-PLAN-UNION at line 2, column 8: column b of the UNION ALL is INT in one "
            "query and STRING in "
            "this one. CAST it to the same type in all queries.",
        ),
        (
            "SELECT a, count(*) AS n FROM events GROUP BY a EMIT CHANGES "
            "WITH ('state.ttl' = '1h') UNION ALL SELECT a, 1 FROM events",
            "MS-PLAN-RETRACT at line 1, column 27: this query retracts rows, which UNION ALL "
            "does not "
            "support. ",
        ),
        (
            "SELECT a FROM events UNION ALL BY NAME SELECT a FROM events",
            "MS-PLAN-NOT-YET at line 1, column 66: UNION ALL BY NAME cannot be run yet. List "
            "the columns in "
            "the same order in each query.",
        ),
        (
            "SELECT a FROM events EXCEPT SELECT b FROM events",
            "MS-PLAN-NOT-YET at line 1, column 55: EXCEPT cannot be run yet. Write LEFT SEMI "
            "JOIN for "
            "INTERSECT, LEFT ANTI JOIN for EXCEPT, with a time bound.",
        ),
    ],
)
def test_errors(query: str, message: str) -> None:
    assert error_of(OUT + query).startswith(message)


def test_a_union_with_many_queries_is_rejected() -> None:
    text = " UNION ALL ".join(["SELECT a FROM events"] * 101)
    assert error_of(OUT + text).startswith(
        "MS-PLAN-SIZE at line 1, column 3127: this UNION ALL has 101 queries; at most 100 "
        "are allowed."
    )


def test_the_native_engine_has_no_operator_over_a_union() -> None:
    text = error_of(
        BOTH + OUT + "SELECT _WINDOW_START, count(*) AS n FROM times "
        "WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY _WINDOW_START EMIT FINAL "
        "WITH ('engine' = 'native')"
    )
    assert "Spark's watermark waits for every branch of a UNION ALL to have rows" in text


def test_no_select_reads_a_union_but_the_one_above_an_operator() -> None:
    found = planned("SELECT order_id FROM times UNION ALL SELECT s FROM events")
    roots = [each.root for each in found.pipelines]
    assert len(roots) == 3
    assert all(isinstance(_bottom(each), Source) for each in roots)


def _bottom(select: Select) -> object:
    below = select.input
    return _bottom(below) if isinstance(below, Select) else below
