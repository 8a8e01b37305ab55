"""Operators as data of `explain --json`."""

from __future__ import annotations

from typing import Any

from millstream.plan.explain.json_words import (
    input_data,
    late_data,
    limit_data,
    output_data,
    window_data,
)
from millstream.plan.expressions.spark_sql import text_or_none, to_spark_sql
from millstream.plan.facts.operators import OperatorFacts
from millstream.plan.nodes import Aggregate, Call, Deduplicate, Order, RowsOver, TopN

Nodes = list[dict[str, Any]]


def aggregate_data(facts: OperatorFacts, nodes: Nodes) -> dict[str, Any]:
    node = facts.operator
    assert isinstance(node, Aggregate)
    return {
        "kind": "aggregate",
        "window": window_data(node.window) if node.window else None,
        "given": list(map(to_spark_sql, node.given)) if node.given else None,
        "keys": [output_data(key) for key in node.keys],
        "calls": [_call(call) for call in node.calls],
        "emit": str(node.emit),
        "lateness_us": node.lateness,
        "ttl_us": node.ttl,
        "over_changes": node.over_changes,
        **_common(facts, nodes[0]),
    }


def deduplicate_data(facts: OperatorFacts, nodes: Nodes) -> dict[str, Any]:
    node = facts.operator
    assert isinstance(node, Deduplicate)
    return {
        "kind": "deduplicate",
        "keys": list(map(to_spark_sql, node.keys)),
        "within_us": node.within,
        **_common(facts, nodes[0]),
    }


def top_n_data(facts: OperatorFacts, nodes: Nodes) -> dict[str, Any]:
    node = facts.operator
    assert isinstance(node, TopN)
    return {
        "kind": "top_n",
        "n": node.n,
        "partition": list(map(to_spark_sql, node.partition)),
        "order": [_order(order) for order in node.order],
        "rank": node.rank,
        "due": text_or_none(node.due),
        "emit": str(node.emit),
        "ttl_us": node.ttl,
        "over_changes": node.over_changes,
        **_common(facts, nodes[0]),
    }


def rows_over_data(facts: OperatorFacts, nodes: Nodes) -> dict[str, Any]:
    node = facts.operator
    assert isinstance(node, RowsOver)
    return {
        "kind": "rows_over",
        "partition": list(map(to_spark_sql, node.partition)),
        "preceding": node.preceding,
        "calls": [_call(call) for call in node.calls],
        "ttl_us": node.ttl,
        **_common(facts, nodes[0]),
    }


def _order(order: Order) -> dict[str, Any]:
    return {
        "sql": to_spark_sql(order.expression),
        "descending": order.descending,
        "nulls_first": order.nulls_first,
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        "function": call.function,
        "argument": text_or_none(call.argument),
        "name": call.name,
        "type": call.type,
        "filter": text_or_none(call.filter),
        "by": text_or_none(call.by),
        "ignore_nulls": call.ignore_nulls,
        "parameters": list(call.parameters),
    }


def _common(facts: OperatorFacts, node: dict[str, Any]) -> dict[str, Any]:
    operator = facts.operator
    return {
        "retracts": operator.retracts,
        "strategy": str(facts.strategy),
        "held": list(facts.held),
        "state": facts.state,
        "late": late_data(operator.late),
        "limit": limit_data(operator.limit),
        "comes_out": list(facts.comes_out),
        "input": input_data(operator.input, node),
    }
