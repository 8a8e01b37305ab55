"""Joins of every kind and type in chains: whatever a text of the plan names is there to be read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from tests.plan.plans import job

from millstream.errors import MillstreamError
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.expressions import Expression
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.identity import query_identity
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    BoundedJoin,
    Input,
    Join,
    Node,
    Query,
    RegularJoin,
    RowsOver,
    Select,
    SessionJoin,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.plan.nodes.traversal import inputs_of, nodes_of

TYPES = ("", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
SIDES = {
    "interval": "{how} JOIN {name} {alias} ON {alias}.order_id = {left}.order_id AND "
    "{alias}.event_time BETWEEN {left}.event_time AND {left}.event_time + INTERVAL 1 HOUR",
    "within": "{how} JOIN {name} {alias} WITHIN 5 MINUTES USING (order_id)",
    "temporal": "{how} JOIN prices FOR SYSTEM_TIME AS OF o.event_time AS {alias} "
    "ON {alias}.sku = {left}.order_id",
    "window": "{how} JOIN {name} {alias} ON {alias}.order_id = {left}.order_id",
    "regular": "{how} JOIN {name} {alias} ON {alias}.order_id = {left}.order_id "
    "AND {alias}.event_time >= {left}.event_time",
    "lookup": "{how} JOIN customers {alias} ON {alias}.id = {left}.order_id AND {alias}.tier < 9",
    "broadcast": "{how} JOIN taxes {alias} ON {alias}.region = {left}.order_id "
    "AND {alias}.year = 2026 "
    "AND {left}.event_time > '2026-01-01'",
}
COLUMNS = {"temporal": "price", "lookup": "tier", "broadcast": "tax"}
PAIRS = [(how, other) for how in TYPES for other in ("", "LEFT")] + [("", how) for how in TYPES[2:]]
TABLE = """CREATE TABLE prices (sku STRING PRIMARY KEY, price DOUBLE, op STRING, t TIMESTAMP,
  WATERMARK FOR t AS t) WITH ('changelog.op' = 'op'); CREATE SINK out AS """
WINDOWS = {
    "": "",
    "tumbling": "WINDOW TUMBLING(INTERVAL 1 HOUR)",
    "sliding": "WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 20 MINUTES)",
    "session": "WINDOW SESSION(GAP INTERVAL 10 MINUTES)",
}


def query(kinds: tuple[str, ...], hows: tuple[str, ...], window: str, tail: str) -> str:
    text, left, seen = "orders o", "o", ["o.total AS o_total"]
    for number, (kind, how) in enumerate(zip(kinds, hows, strict=True)):
        alias = f"j{number}"
        name = ("shipments", "orders")[number % 2]
        text += " " + SIDES[kind].format(how=how, name=name, alias=alias, left=left)
        if "SEMI" not in how and "ANTI" not in how:
            column = COLUMNS.get(kind, ("weight", "total")[number % 2])
            seen.append(f"{alias}.{column} AS c{number}")
    more = ", _window_start" if window and "window" in kinds else ""
    return f"{TABLE}SELECT {', '.join(seen)}{more} FROM {text} {WINDOWS[window]} {tail}"


@pytest.mark.parametrize("kinds", [*product(("interval", "within", "temporal"), repeat=2)])
def test_two_joins_of_every_type(kinds: tuple[str, str]) -> None:
    planned = [_planned(query(kinds, hows, "", "")) for hows in PAIRS]
    assert sum(planned) >= 4


@pytest.mark.parametrize("window", ["tumbling", "sliding"])
@pytest.mark.parametrize("tail", ["", "EMIT FINAL", "EMIT FINAL WITH ('window.lateness' = '1m')"])
def test_window_joins_of_every_type(window: str, tail: str) -> None:
    for how in TYPES:
        assert _planned(query(("window",), (how,), window, tail))
    for kinds in (("window", "window"), ("temporal", "window"), ("window", "temporal")):
        planned = [_planned(query(kinds, hows, window, tail)) for hows in PAIRS]
        assert sum(planned) >= 6


def test_chains_of_three() -> None:
    hows = [("", "LEFT", "FULL"), ("LEFT", "", "RIGHT"), ("LEFT SEMI", "LEFT", "LEFT ANTI")]
    for each in hows:
        late = "WITH ('late.policy' = 'side_output')"
        assert _planned(query(("interval", "temporal", "interval"), each, "", late))
        assert _planned(query(("window", "window", "window"), each, "tumbling", late))
    where = "WHERE o.total > 1 AND j2.weight > o.total AND order_id > 'a'"
    assert _planned(query(("within", "temporal", "within"), ("", "", ""), "", where))


@pytest.mark.parametrize("ttl", ["1h", "forever"])
@pytest.mark.parametrize("other", ["interval", "temporal", "regular", "lookup", "broadcast"])
def test_regular_joins_combined_with_others(other: str, ttl: str) -> None:
    properties = f"WITH ('state.ttl' = '{ttl}')"
    for kinds in (("regular", other), (other, "regular")):
        planned = [_planned(query(kinds, hows, "", properties)) for hows in PAIRS]
        assert sum(planned) >= (0 if ttl == "forever" and other in ("interval", "temporal") else 4)


@pytest.mark.parametrize("table", ["lookup", "broadcast"])
@pytest.mark.parametrize("other", ["interval", "within", "temporal", "lookup", "broadcast"])
def test_table_joins_combined_with_others(other: str, table: str) -> None:
    for kinds in ((table, other), (other, table)):
        planned = [_planned(query(kinds, hows, "", "")) for hows in PAIRS]
        assert sum(planned) >= 4
    where = "WHERE o.total > 1 AND j1.tier > 2" if table == "lookup" else "WHERE o.total > 1"
    assert _planned(query((other, table, other), ("", "", "LEFT"), "", where))


@pytest.mark.parametrize("window", ["tumbling", "sliding", "session"])
@pytest.mark.parametrize("tail", ["", "EMIT FINAL", "EMIT FINAL WITH ('window.lateness' = '1m')"])
def test_window_joins_combined_with_table_joins(window: str, tail: str) -> None:
    for kinds in (("window", "lookup"), ("broadcast", "window"), ("broadcast", "window", "lookup")):
        for how in TYPES:
            at = kinds.index("window")
            hows = tuple(how if number == at else "LEFT" for number in range(len(kinds)))
            assert _planned(query(kinds, hows, window, tail))
    if window != "session":
        assert _planned(query(("window", "lookup", "window"), ("", "", ""), window, tail))


def test_sessions_of_every_type() -> None:
    for how in TYPES:
        for tail in ("", "EMIT FINAL", "WITH ('window.lateness' = '1m')"):
            assert _planned(query(("window",), (how,), "session", tail))
        as_they_meet = query(("window",), (how,), "session", "EMIT CHANGES")
        assert _planned(as_they_meet.replace(", _window_start", ""))
        before = query(("interval", "window"), ("LEFT", how), "session", "")
        assert not _planned(before)  # a WINDOW after all joins is for each of them


def _planned(sql: str) -> bool:
    """Is a query planned, and sound? Else it is rejected with what to do."""
    try:
        made = job(sql)
    except MillstreamError:
        return False
    explain(made)
    explain_json(made)
    for pipeline in made.pipelines:
        query_identity(Query((pipeline,)))
        for node in nodes_of(pipeline.root):
            _check(node)
    return True


def _check(node: Node) -> None:
    if isinstance(node, Source):
        return
    if isinstance(node, Select):
        names = [output.name.lower() for output in node.outputs]
        assert len(names) == len(set(names))
        assert node.time is None or node.time.lower() in names
        assert node.time is None or watermark_delay_of(node) >= 0
        _check_columns(
            [*(output.expression for output in node.outputs), node.where], _readable(node)
        )
        plain = {str(output.expression) for output in node.outputs}
        plain &= {WINDOW_START, WINDOW_END, WINDOW_TIME}
        if isinstance(node.input, TableJoin | BoundedJoin | RegularJoin):
            assert not plain
        if isinstance(node.input, SessionJoin):
            assert not plain or node.input.emit == "final"
        return
    assert not isinstance(node, UnionAll)
    for side in inputs_of(node):
        columns = {column.name for column in side.node.columns}
        assert {side.time, *side.used} - {None} <= columns
        assert side.progress is None or side.progress in columns
    if isinstance(node, TableJoin):
        columns = {column.name for column in node.table.columns}
        assert {*node.used, *(key.right for key in node.keys)} <= columns
        assert {condition.column for condition in node.conditions} <= columns
        over = {node.left.alias: _columns(node.left)}
        _check_columns([*(key.left for key in node.keys), node.left_where], over)
        both = {node.left.alias: set(node.left.used), node.alias: set(node.used)}
        _check_columns([node.across_sql], both)
    if isinstance(node, Join):
        over = {side.alias: _columns(side) for side in inputs_of(node)}
        read = [each for key in node.keys for each in (key.left, key.right)]
        if isinstance(node, BoundedJoin | RegularJoin):
            read += [each for each in (node.left_where, node.right_where) if each]
            _check_columns(
                [node.across_sql], {side.alias: set(side.used) for side in inputs_of(node)}
            )
        _check_columns(read, over)
    if isinstance(node, RowsOver):
        _check_columns([*node.partition], {node.input.alias: _columns(node.input)})


def _columns(side: Input) -> set[str]:
    return {column.name for column in side.node.columns}


def _readable(node: Select) -> dict[str, set[str]]:
    below = node.input
    if isinstance(below, TableJoin):
        found = {below.left.alias: set(below.left.used)}
        return found if below.how.left_only else found | {below.alias: set(below.used)}
    if isinstance(below, Join):
        sides = inputs_of(below)[: 1 if below.how.left_only else 2]
        return {side.alias: set(side.used) for side in sides}
    if node.alias and isinstance(below, Source | Select):
        return {node.alias: {column.name for column in below.columns}}
    return {}


def _check_columns(expressions: Sequence[Expression | None], readable: dict[str, set[str]]) -> None:
    for expression in expressions:
        for column in expression.columns if expression else ():
            if column.alias is not None:
                assert column.alias in readable, f"{column.alias} in {expression}"
                assert column.name in readable[column.alias], f"{column} in {expression}"
