"""Operators as data of `explain --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from millstream.plan.explain.json_words import input_data, late_data, limit_data, window_data
from millstream.plan.facts.operators import OperatorFacts
from millstream.plan.nodes import Aggregate, Call, Deduplicate, RowsOver, TopN

Nodes = list[dict[str, Any]]


def aggregate_data(facts: OperatorFacts, nodes: Nodes) -> dict[str, Any]:
    node = facts.operator
    assert isinstance(node, Aggregate)
    return {
        "kind": "aggregate",
        "window": window_data(node.window) if node.window else None,
        "given": list(node.given) if node.given else None,
        "keys": [{"sql": key.sql, "name": key.name, "type": key.type} for key in node.keys],
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
        "keys": list(node.keys),
        "within_us": node.within,
        **_common(facts, nodes[0]),
    }


def top_n_data(facts: OperatorFacts, nodes: Nodes) -> dict[str, Any]:
    node = facts.operator
    assert isinstance(node, TopN)
    return {
        "kind": "top_n",
        "n": node.n,
        "partition": list(node.partition),
        "order": [asdict(order) for order in node.order],
        "rank": node.rank,
        "due": node.due,
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
        "partition": list(node.partition),
        "preceding": node.preceding,
        "calls": [_call(call) for call in node.calls],
        "ttl_us": node.ttl,
        **_common(facts, nodes[0]),
    }


def _call(call: Call) -> dict[str, Any]:
    return asdict(call) | {"parameters": list(call.parameters)}


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
