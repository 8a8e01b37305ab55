"""Operators as data of `explain --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from millstream.plan.facts.joins import JoinFacts, SideFacts
from millstream.plan.facts.operators import Facts, OperatorFacts
from millstream.plan.facts.temporal import TemporalFacts
from millstream.plan.nodes import Aggregate, Call, Deduplicate, Input, IntervalJoin, RowsOver, TopN
from millstream.temporal import LatePolicy, StateLimit, Window


def operator_data(facts: Facts, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    if isinstance(facts, JoinFacts):
        return _join(facts, nodes)
    if isinstance(facts, TemporalFacts):
        return _temporal(facts, nodes)
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
        "window": _window(node.window) if node.window else None,
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


def _window(window: Window) -> dict[str, Any]:
    return {
        "kind": str(window.kind),
        "size_us": window.size,
        "slide_us": window.slide,
        "offset_us": window.offset,
        "wall_clock": window.wall_clock,
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
        "late": _late(operator.late),
        "limit": _limit(operator.limit),
        "comes_out": list(facts.comes_out),
        "input": _input(operator.input, node),
    }


def _input(side: Input, node: dict[str, Any]) -> dict[str, Any]:
    return {
        "alias": side.alias,
        "time": side.time,
        "delay_us": side.delay,
        "columns_held": list(side.used),
        "node": node,
    }


def _temporal(facts: TemporalFacts, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    join = facts.join
    return {
        "kind": "temporal_join",
        "how": str(join.how),
        "keys": [{"left": key.left, "right": key.right} for key in join.keys],
        "direction": str(join.direction),
        "tolerance_us": join.tolerance,
        "deletes": join.deletes,
        "version": facts.version,
        "strategy": str(facts.strategy),
        "held": list(facts.held),
        "state": facts.state,
        "sides": [
            _input(side, node) for side, node in zip((join.left, join.right), nodes, strict=True)
        ],
        "late": _late(join.late),
        "limit": _limit(join.limit),
        "comes_out": list(facts.comes_out),
    }


def _late(late: LatePolicy) -> dict[str, Any]:
    told: dict[str, Any] = {"action": str(late.action), "sink": late.sink}
    return told | ({"budget_us": late.budget} if late.budget else {})


def _limit(limit: StateLimit) -> dict[str, Any]:
    return {
        "max_rows": limit.max_rows,
        "max_bytes": limit.max_bytes,
        "on_limit": str(limit.on_limit),
    }


def _join(facts: JoinFacts, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    join = facts.join
    return {
        "kind": "interval_join" if join.windows is None else "window_join",
        "how": str(join.how),
        "keys": [{"left": key.left, "right": key.right} for key in join.keys],
        "bounds_us": [join.bounds.lower, join.bounds.upper],
        **_windows(join),
        "predicates": [text for _, text in facts.predicates],
        "only_spark": join.only_spark,
        "strategy": str(facts.strategy),
        "sides": [
            _side(facts.left, join.left, nodes[0]),
            _side(facts.right, join.right, nodes[1]),
        ],
        "retention_us": join.retention,
        "late": _late(join.late),
        "limit": _limit(join.limit),
        "comes_out": list(facts.comes_out),
    }


def _windows(join: IntervalJoin) -> dict[str, Any]:
    if join.windows is None:
        return {}
    windows = [_window(window) for window in join.windows]
    return {"windows": windows, "lateness_us": join.lateness}


def _side(side: SideFacts, read: Input, node: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": side.name,
        "alias": side.alias,
        "time": side.time,
        "delay_us": side.delay,
        "held_us": side.held,
        "why": side.why,
        "state": side.state,
        "columns_held": list(read.used),
        **({} if read.progress is None else {"progress": read.progress}),
        "node": node,
    }
