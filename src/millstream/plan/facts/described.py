"""Sources, streams and operators by all that state depends on, as data."""

from __future__ import annotations

from typing import Any

from millstream.plan.explain.words import call_text, order_text
from millstream.plan.expressions import Expression
from millstream.plan.expressions.spark_sql import text_or_none, to_spark_sql
from millstream.plan.facts.tables import condition_text
from millstream.plan.nodes import (
    Aggregate,
    Deduplicate,
    Input,
    IntervalJoin,
    Key,
    Node,
    Operator,
    RegularJoin,
    RowsOver,
    Select,
    SessionJoin,
    Source,
    TableJoin,
    TableKey,
    TemporalJoin,
    TopN,
)
from millstream.temporal import format_span
from millstream.values import Compare, PredicateOf


def source_described(source: Source) -> dict[str, Any]:
    watermark = source.watermark
    return {
        "connector": source.connector,
        "column": {column.name: column.type for column in source.columns},
        "watermark": f"{watermark.column} - {format_span(watermark.delay)}" if watermark else None,
    }


def operator_described(operator: Operator) -> dict[str, Any]:
    told: dict[str, Any]
    match operator:
        case IntervalJoin():
            return {"operator": "join", **_join(operator)}
        case TemporalJoin():
            return {"operator": "temporal join", **_temporal(operator)}
        case SessionJoin():
            return {"operator": "session join", **_sessions(operator)}
        case RegularJoin():
            return {"operator": "regular join", **_regular(operator)}
        case Aggregate():
            return {"operator": "aggregate", **_aggregate(operator)}
        case Deduplicate():
            told = {"key": list(map(to_spark_sql, operator.keys)), "within": _span(operator.within)}
            return {"operator": "deduplicate", **told, **_side(operator.input)}
        case TopN():
            return {"operator": "top n", **_top_n(operator)}
        case RowsOver():
            told = {
                "partition": list(map(to_spark_sql, operator.partition)),
                "preceding": "all" if operator.preceding is None else operator.preceding,
                "calls": [call_text(call) for call in operator.calls],
                "ttl": _span(operator.ttl),
            }
            return {"operator": "rows over", **told, **_side(operator.input)}


def _span(micros: int | None) -> str | None:
    return None if micros is None else format_span(micros)


def _keys(keys: tuple[Key, ...] | tuple[TableKey, ...]) -> list[str]:
    return [f"{key.left} = {key.right}" for key in keys]


def _join(join: IntervalJoin) -> dict[str, Any]:
    return {
        "type": str(join.how),
        "key": _keys(join.keys),
        "bound": str(join.bounds),
        **_windows(join),
        "left": _side(join.left, {"filter": text_or_none(join.left_where)}),
        "right": _side(join.right, {"filter": text_or_none(join.right_where)}),
        "predicate": text_or_none(join.across_sql),
        "kernel predicate": _predicate(join.across),
        "retention": _span(join.retention),
        **_salt(join),
    }


def _salt(join: IntervalJoin | TemporalJoin) -> dict[str, Any]:
    return {} if join.salt == 1 else {"salt": join.salt}


def _sessions(join: SessionJoin) -> dict[str, Any]:
    return {
        "type": str(join.how),
        "key": _keys(join.keys),
        "gap": format_span(join.gap),
        "emit": str(join.emit),
        "lateness": format_span(join.lateness),
        "left": _side(join.left),
        "right": _side(join.right),
    }


def _regular(join: RegularJoin) -> dict[str, Any]:
    return {
        "type": str(join.how),
        "key": _keys(join.keys),
        "ttl": _span(join.ttl),
        "over changes": list(join.over_changes),
        "left": _side(join.left, {"filter": text_or_none(join.left_where)}),
        "right": _side(join.right, {"filter": text_or_none(join.right_where)}),
        "predicate": text_or_none(join.across_sql),
        "kernel predicate": _predicate(join.across),
    }


def _windows(join: IntervalJoin) -> dict[str, Any]:
    if join.windows is None:
        return {}
    return {"windows": list(map(str, join.windows)), "lateness": format_span(join.lateness)}


def _temporal(join: TemporalJoin) -> dict[str, Any]:
    return {
        "type": str(join.how),
        "key": _keys(join.keys),
        "direction": str(join.direction),
        "tolerance": _span(join.tolerance),
        "deletes": text_or_none(join.deletes),
        "left": _side(join.left),
        "right": _side(join.right),
        **_salt(join),
    }


def _aggregate(node: Aggregate) -> dict[str, Any]:
    window = node.window
    clock = ", by the clock" if window and window.wall_clock else ""
    return {
        "window": f"{window}{clock}" if window else None,
        "given": list(map(to_spark_sql, node.given)) if node.given else None,
        "key": [to_spark_sql(key.expression) for key in node.keys],
        "calls": [call_text(call) for call in node.calls],
        "emit": str(node.emit),
        "lateness": format_span(node.lateness),
        "ttl": _span(node.ttl),
        **_side(node.input),
    }


def _top_n(node: TopN) -> dict[str, Any]:
    return {
        "n": node.n,
        "partition": list(map(to_spark_sql, node.partition)),
        "order": [order_text(order) for order in node.order],
        "number": node.rank,
        "due": text_or_none(node.due),
        "emit": str(node.emit),
        "ttl": _span(node.ttl),
        **_side(node.input),
    }


def _side(side: Input, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "alias": side.alias,
        "input": stream_described(side.node),
        "time": side.time,
        **({} if side.progress is None else {"progress": side.progress}),
        "delay": format_span(side.delay),
        **(more or {}),
        "columns held": list(side.used),
    }


def stream_described(node: Node) -> Any:
    """A stream below an operator: its filters and columns decide what the state holds."""
    if isinstance(node, Source):
        return node.name
    if isinstance(node, Select):
        return {
            "columns": [f"{output.expression} AS {output.name}" for output in node.outputs],
            "where": text_or_none(node.where),
            "of": stream_described(node.input),
        }
    if isinstance(node, TableJoin):
        return {
            "table": node.table.name,
            "type": str(node.how),
            "key": _keys(node.keys),
            "filter": text_or_none(node.left_where),
            "conditions": [condition_text(each) for each in node.conditions],
            "predicate": text_or_none(node.across_sql),
            "of": stream_described(node.left.node),
        }
    return "another operator"  # told on its own


def _predicate(predicate: PredicateOf[Expression] | None) -> str | None:
    if predicate is None:
        return None
    if isinstance(predicate, Compare):
        return f"{predicate.left} {predicate.op} {predicate.right}"
    terms = [f"({_predicate(term)})" for term in predicate.terms]
    return f"not {terms[0]}" if predicate.op == "not" else f" {predicate.op} ".join(terms)
