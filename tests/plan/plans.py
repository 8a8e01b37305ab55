"""Sources that the tests of plans share, and a plan in a few plain lines."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.errors import MillstreamError
from millstream.plan.build import build_job, build_query
from millstream.plan.nodes import (
    Compare,
    Input,
    IntervalJoin,
    Job,
    Node,
    Pipeline,
    Predicate,
    Select,
    Source,
)

SOURCES_SQL = """
CREATE SOURCE orders (
  order_id STRING, customer_id STRING, total DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 5 SECONDS
);
CREATE SOURCE shipments (
  shipment_id STRING, order_id STRING, carrier STRING, weight DOUBLE, event_time TIMESTAMP,
  WATERMARK FOR event_time AS event_time - INTERVAL 10 SECONDS
);
CREATE SOURCE clicks (user_id STRING, at TIMESTAMP);
CREATE SOURCE events (
  id BIGINT, a INT, b INT, c DOUBLE, s STRING, `weird col` STRING, d DATE,
  payload STRUCT<kind: STRING, inner: STRUCT<x: INT>>, tags MAP<STRING, STRING>, xs ARRAY<INT>,
  items ARRAY<STRUCT<sku: STRING, price: DOUBLE>>, t TIMESTAMP,
  WATERMARK FOR t AS t
);
CREATE SINK unused AS SELECT a, b, c FROM events;
"""


def shared_sources() -> dict[str, Source]:
    """The sources by name. SQL that uses them all gives them as nodes."""
    found: dict[str, Source] = {}
    for name in ("orders", "shipments", "clicks", "events"):
        text = SOURCES_SQL.replace("SELECT a, b, c FROM events", f"SELECT * FROM {name}")
        source = build_job(text).pipelines[0].root.input
        assert isinstance(source, Source)
        found[name] = source
    return found


SOURCES = shared_sources()


def plan(sql: str) -> Pipeline:
    return build_query(sql, SOURCES)


def join_of(sql: str) -> IntervalJoin:
    join = plan(sql).root.input
    assert isinstance(join, IntervalJoin)
    return join


def job(sql: str) -> Job:
    return build_job(sql, sources=SOURCES)


def error_of(sql: str) -> str:
    """The text of the error that planning a query gives."""
    try:
        plan(sql)
    except MillstreamError as error:
        return str(error)
    raise AssertionError("the query was planned")


def describe(sql: str) -> str:
    """The plan of a query, or the error that planning it gives."""
    try:
        return "\n".join(_node(plan(sql).root))
    except MillstreamError as error:
        return str(error)


def _node(node: Node) -> Iterator[str]:
    if isinstance(node, Source):
        yield f"source {node.name}"
    elif isinstance(node, Select):
        alias = f" over {node.alias}" if node.alias else ""
        yield f"select{alias}"
        for output in node.outputs:
            kind = f" : {output.type}" if output.type else ""
            time = "  <- event time" if output.name == node.time else ""
            yield f"  {output.sql} AS {output.name}{kind}{time}"
        if node.where:
            yield f"  where {node.where}"
        yield from (f"  {line}" for line in _node(node.input))
    else:
        yield from _join(node)


def _join(join: IntervalJoin) -> Iterator[str]:
    yield f"{join.how} join {join.bounds}"
    for key in join.keys:
        yield f"  key {key.left} = {key.right}"
    facts = {
        "left where": join.left_where,
        "right where": join.right_where,
        "across": _predicate(join.across),
        "across sql": join.across_sql,
    }
    yield from (f"  {name} {text}" for name, text in facts.items() if text)
    if join.only_spark:
        yield "  only Spark can decide"
    yield from (f"  {line}" for line in _side("left", join.left))
    yield from (f"  {line}" for line in _side("right", join.right))


def _side(which: str, side: Input) -> Iterator[str]:
    yield f"{which} {side.alias}, time {side.time}, used {', '.join(side.used) or 'none'}"
    if isinstance(side.node, Select):
        yield from (f"  {line}" for line in _node(side.node))


def _predicate(predicate: Predicate | None) -> str:
    if predicate is None:
        return ""
    if isinstance(predicate, Compare):
        return f"[{predicate.left} {predicate.op} {predicate.right}]"
    return f"{predicate.op}({', '.join(_predicate(term) for term in predicate.terms)})"
