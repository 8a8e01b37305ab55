"""Operators as data of `explain --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from millstream.plan.explain.json_joins import join_data
from millstream.plan.explain.json_words import input_data, late_data, limit_data, window_data
from millstream.plan.facts.operators import Facts, OperatorFacts
from millstream.plan.nodes import Aggregate, Call, Deduplicate, RowsOver, TopN


def operator_data(facts: Facts, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(facts, OperatorFacts):
        return join_data(facts, nodes)
    node = facts.operator
    match node:
        case Aggregate():
            told = _aggregate(node)
        case Deduplicate():
            told = {
                "kind": "deduplicate",
                "keys": list(node.keys),
                "within_us": node.within,
            }
        case TopN():
            told = _top_n(node)
        case RowsOver():
            told = {
                "kind": "rows_over",
                "partition": list(node.partition),
                "preceding": node.preceding,
                "calls": [_call(call) for call in node.calls],
                "ttl_us": node.ttl,
            }
    return told | _common(facts, nodes[0])


def _aggregate(node: Aggregate) -> dict[str, Any]:
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
    }


def _top_n(node: TopN) -> dict[str, Any]:
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
