"""Sources that the tests of plans share, and a plan in a few plain lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job, build_query
from millstream.plan.document.formats import call_text, late_text, limit_text, order_text
from millstream.plan.expressions import Expression
from millstream.plan.facts.table_join import condition_text
from millstream.plan.nodes import (
    Aggregate,
    BoundedJoin,
    Broadcast,
    Deduplicate,
    Input,
    Job,
    Node,
    Pipeline,
    ReferenceTable,
    RegularJoin,
    RowsOver,
    Select,
    SessionJoin,
    Source,
    TableJoin,
    TemporalJoin,
    TopN,
    UnionAll,
    WindowJoin,
)
from millstream.plan.nodes.traversal import reference_tables_of
from millstream.scalars import (
    Arithmetic,
    Compare,
    Constant,
    Logic,
    Operand,
    PredicateOf,
    ScalarOf,
    terms_of,
)
from millstream.temporal import LatePolicy, OutputMode, StateLimit, format_span

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

TABLES_SQL = """
CREATE TABLE customers (id STRING, region STRING, tier INT, active BOOLEAN, PRIMARY KEY (id))
  WITH ('connector' = 'postgresql', 'url' = 'postgresql://db/shop');
CREATE TABLE regions (region STRING, tax DOUBLE, since DATE)
  WITH ('connector' = 'file', 'path' = 'regions.csv', 'refresh.interval' = '10m');
CREATE TABLE taxes (region STRING, year INT, tax DOUBLE, PRIMARY KEY (region, year))
  WITH ('connector' = 'file', 'path' = 'taxes.csv');
"""


def shared_sources() -> dict[str, Source]:
    """The sources by name. SQL that uses them all gives them as nodes."""
    declared = SOURCES_SQL.replace("CREATE SINK unused AS SELECT a, b, c FROM events;", "")
    return sources_of(declared, ("orders", "shipments", "clicks", "events"))


def sources_of(declarations: str, names: Sequence[str]) -> dict[str, Source]:
    """The declared sources by name."""
    found: dict[str, Source] = {}
    for name in names:
        text = f"{declarations} CREATE SINK it AS SELECT * FROM {name};"
        source = build_job(text).pipelines[0].root.input
        assert isinstance(source, Source)
        found[name] = source
    return found


def shared_tables() -> dict[str, ReferenceTable]:
    """Tables by name: one that is asked, one that is refreshed, one that is read once."""
    found: dict[str, ReferenceTable] = {}
    for name in ("customers", "regions", "taxes"):
        sql = f"SELECT o.total FROM orders o JOIN {name} t ON t.region = o.customer_id"
        text = SOURCES_SQL + TABLES_SQL + f"CREATE SINK it AS {sql}"
        (found[name],) = reference_tables_of(build_job(text))
    return found


SOURCES = shared_sources()
TABLES = shared_tables()


def plan(sql: str) -> Pipeline:
    return build_query(sql, SOURCES, tables=TABLES)


def join_of(sql: str) -> BoundedJoin:
    join = plan(sql).root.input
    assert isinstance(join, BoundedJoin)
    return join


def job(sql: str) -> Job:
    return build_job(sql, sources=SOURCES, tables=TABLES)


def error_of(sql: str) -> str:
    """The text of the error that planning a query gives."""
    try:
        plan(sql)
    except MillstreamError as error:
        return str(error)
    raise AssertionError("the query was planned")


def describe(sql: str) -> str:
    """The plan of a query, or the error that planning it gives."""
    return describe_plan(lambda: job(sql).pipelines[-1] if sql.startswith("CREATE") else plan(sql))


def describe_plan(build: Callable[[], Pipeline]) -> str:
    """The plan that a function builds, or its error."""
    try:
        pipeline = build()
        mode = [] if pipeline.mode is OutputMode.APPEND else [f"mode {pipeline.mode}"]
        return "\n".join([*mode, *_node(pipeline.root)])
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
            time += "  <- window" if output.name in (node.window or ()) else ""
            yield f"  {output.expression} AS {output.name}{kind}{time}"
        if node.where:
            yield f"  where {node.where}"
        yield from (f"  {line}" for line in _node(node.input))
    elif isinstance(node, BoundedJoin):
        yield from _join(node)
    elif isinstance(node, TemporalJoin):
        yield from _temporal(node)
    elif isinstance(node, SessionJoin):
        yield from _sessions(node)
    elif isinstance(node, RegularJoin):
        yield from _regular(node)
    elif isinstance(node, TableJoin):
        yield from _table_join(node)
    elif isinstance(node, UnionAll):
        for each in node.inputs:
            yield from _node(each)
    else:
        yield from _operator(node)


def _operator(node: Aggregate | Deduplicate | TopN | RowsOver) -> Iterator[str]:
    match node:
        case Aggregate():
            window = f", {node.window}" if node.window else ""
            clock = " by the clock" if node.window and node.window.wall_clock else ""
            yield f"aggregate{window}{clock}, emit {node.emit}"
            yield from (
                f"  key {key.expression} AS {key.name}{_typed(key.type)}" for key in node.keys
            )
            yield from (f"  call {call_text(call)}{_typed(call.type)}" for call in node.calls)
            if node.given:
                yield f"  given {' to '.join(map(str, node.given))}"
            if node.lateness:
                yield f"  lateness {format_span(node.lateness)}"
        case Deduplicate():
            yield f"deduplicate by {', '.join(map(str, node.keys))}, within {_span(node.within)}"
        case TopN():
            due = f", due {node.due}" if node.due else ""
            yield f"first {node.n}, emit {node.emit}{due}"
            yield f"  partition {', '.join(map(str, node.partition)) or 'none'}"
            yield f"  order {', '.join(order_text(order) for order in node.order)}"
            if node.rank:
                yield f"  number {node.rank}"
        case RowsOver():
            yield f"rows over {'all' if node.preceding is None else node.preceding} before"
            yield f"  partition {', '.join(map(str, node.partition)) or 'none'}"
            yield from (f"  call {call_text(call)}{_typed(call.type)}" for call in node.calls)
    if isinstance(node, Aggregate | TopN) and node.over_changes:
        yield "  over changes"
    if isinstance(node, Aggregate | TopN | RowsOver) and node.ttl is not None:
        yield f"  ttl {_span(node.ttl)}"
    if node.late != LatePolicy():
        yield f"  late {late_text(node.late)}"
    if node.limit != StateLimit():
        yield f"  limit {limit_text(node.limit)}"
    yield from (f"  {line}" for line in _side("input", node.input))


def _typed(kind: str | None) -> str:
    return f" : {kind}" if kind else ""


def _span(micros: int | None) -> str:
    return "for ever" if micros is None else format_span(micros)


def _join(join: BoundedJoin) -> Iterator[str]:
    windows = lateness = ""
    if isinstance(join, WindowJoin):
        windows = " of " + " and ".join(map(str, join.windows))
        lateness = f", lateness {format_span(join.lateness)}" if join.lateness else ""
    yield f"{join.how} join {join.bounds}{windows}{lateness}{_salt(join.salt)}"
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


def _salt(salt: int) -> str:
    return f", over {salt} groups" if salt > 1 else ""


def _temporal(join: TemporalJoin) -> Iterator[str]:
    within = "" if join.tolerance is None else f" within {format_span(join.tolerance)}"
    yield f"{join.how} temporal join, {join.direction}{within}{_salt(join.salt)}"
    for key in join.keys:
        yield f"  key {key.left} = {key.right}"
    if join.deletes:
        yield f"  deletes {join.deletes}"
    if join.version_where:
        yield f"  version where {join.version_where}"
    yield from (f"  {line}" for line in _side("left", join.left))
    yield from (f"  {line}" for line in _side("right", join.right))


def _sessions(join: SessionJoin) -> Iterator[str]:
    lateness = f", lateness {format_span(join.lateness)}" if join.lateness else ""
    yield f"{join.how} session join, gap {format_span(join.gap)}, emit {join.emit}{lateness}"
    yield from (f"  key {key.left} = {key.right}" for key in join.keys)
    if join.across_sql:
        yield f"  across {_predicate(join.across)}"
        yield f"  across sql {join.across_sql}"
    yield from _policies(join)
    yield from (f"  {line}" for line in _side("left", join.left))
    yield from (f"  {line}" for line in _side("right", join.right))


def _regular(join: RegularJoin) -> Iterator[str]:
    yield f"{join.how} regular join, ttl {_span(join.ttl)}"
    yield from (f"  key {key.left} = {key.right}" for key in join.keys)
    facts = {
        "over changes": " and ".join(
            side for side, on in zip(("left", "right"), join.over_changes, strict=True) if on
        ),
        "left where": join.left_where,
        "right where": join.right_where,
        "across": _predicate(join.across),
        "across sql": join.across_sql,
    }
    yield from (f"  {name} {text}" for name, text in facts.items() if text)
    if join.only_spark:
        yield "  only Spark can decide"
    yield from _policies(join)
    yield from (f"  {line}" for line in _side("left", join.left))
    yield from (f"  {line}" for line in _side("right", join.right))


def _policies(join: SessionJoin | RegularJoin) -> Iterator[str]:
    if join.late != LatePolicy():
        yield f"  late {late_text(join.late)}"
    if join.limit != StateLimit():
        yield f"  limit {limit_text(join.limit)}"


def _table_join(join: TableJoin) -> Iterator[str]:
    kind = "broadcast" if isinstance(join.table.access, Broadcast) else "lookup"
    yield f"{join.how} {kind} join with {join.table.name} {join.alias}"
    yield from (f"  key {key.left} = {key.right}" for key in join.keys)
    yield from (f"  condition {condition_text(each)}" for each in join.conditions)
    facts = {"left where": join.left_where, "across sql": join.across_sql}
    yield from (f"  {name} {text}" for name, text in facts.items() if text)
    yield f"  used {', '.join(join.used) or 'none'}"
    yield from (f"  {line}" for line in _side("left", join.left))


def _side(which: str, side: Input) -> Iterator[str]:
    lag = f" - {format_span(side.delay)}" if isinstance(side.node, Select) and side.delay else ""
    used = ", ".join(side.used) or "none"
    moved = f" moved by {side.progress}" if side.progress else ""
    yield f"{which} {side.alias}, time {side.time}{moved}{lag}, used {used}"
    if isinstance(side.node, Select):
        yield from (f"  {line}" for line in _node(side.node))


def _predicate(predicate: PredicateOf[Expression] | None) -> str:
    return "" if predicate is None else _scalar(predicate)


def _scalar(node: Expression | ScalarOf[Expression]) -> str:
    match node:
        case Expression():
            return str(node)
        case Operand(value, _, kind):
            return f"{value}: {kind}"
        case Constant(value, kind):
            return f"{value}: {kind}"
        case Compare(left, op, right):
            return f"[{_scalar(left)} {op} {_scalar(right)}]"
        case Arithmetic(left, op, right):
            return f"({_scalar(left)} {op} {_scalar(right)})"
        case Logic():
            name = str(node.op)
        case _:
            name = type(node).__name__.lower()
    return f"{name}({', '.join(map(_scalar, terms_of(node)))})"
