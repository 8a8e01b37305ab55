"""Joins as data of `explain --json`."""

from __future__ import annotations

from typing import Any

from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.explain.json_words import (
    input_data,
    keys_data,
    late_data,
    limit_data,
    window_data,
)
from millstream.plan.explain.secrets import masked_options
from millstream.plan.expressions.spark_sql import text_or_none
from millstream.plan.facts.joins import JoinFacts, SideFacts
from millstream.plan.facts.pairs import PairFacts
from millstream.plan.facts.tables import TableFacts
from millstream.plan.facts.temporal import TemporalFacts
from millstream.plan.nodes import BoundedJoin, Input, Reference, SessionJoin, WindowJoin
from millstream.values import Lookup

Nodes = list[dict[str, Any]]


def pairs_data(facts: PairFacts, nodes: Nodes) -> dict[str, Any]:
    join = facts.join
    told: dict[str, Any]
    if isinstance(join, SessionJoin):
        told = {
            "kind": "session_join",
            "gap_us": join.gap,
            "lateness_us": join.lateness,
            "emit": str(join.emit),
        }
    else:
        told = {
            "kind": "regular_join",
            "ttl_us": join.ttl,
            "over_changes": list(join.over_changes),
            "predicates": [text for _, text in facts.predicates],
            "only_spark": join.only_spark,
        }
    return told | {
        "how": str(join.how),
        "keys": keys_data(join.keys),
        "retracts": join.retracts,
        "strategy": str(facts.strategy),
        "held": list(facts.held),
        "state": facts.state,
        "sides": [
            input_data(side, node)
            for side, node in zip((join.left, join.right), nodes, strict=True)
        ],
        "late": late_data(join.late),
        "limit": limit_data(join.limit),
        "comes_out": list(facts.comes_out),
    }


def table_join_data(
    facts: TableFacts, node: dict[str, Any], connectors: ConnectorRegistry
) -> dict[str, Any]:
    join = facts.join
    return {
        "kind": "lookup_join" if isinstance(join.table.access, Lookup) else "broadcast_join",
        "how": str(join.how),
        "keys": keys_data(join.keys),
        "conditions": facts.conditions or None,
        "left_where": text_or_none(join.left_where),
        "across": text_or_none(join.across_sql),
        "strategy": str(facts.strategy),
        "comes_out": list(facts.comes_out),
        "left": input_data(join.left, node),
        "alias": join.alias,
        "columns_read": list(join.used),
        "table": table_data(join.table, connectors),
    }


def table_data(table: Reference, connectors: ConnectorRegistry) -> dict[str, Any]:
    """A table and how it is read, without secrets."""
    access = table.access
    told: dict[str, Any]
    if isinstance(access, Lookup):
        told = {
            "cache_rows": access.cache_rows,
            "cache_ttl_us": access.cache_ttl,
            "questions": access.capacity,
            "keys_a_question": access.batch,
            "timeout_us": access.timeout,
            "retries": access.retries,
            "on_error": str(access.on_error),
        }
    else:
        told = {
            "refresh_us": access.interval,
            "refresh_on_change": access.watch,
            "refresh_on_command": access.command,
            "max_rows": access.max_rows,
            "max_bytes": access.max_bytes,
        }
    return {
        "name": table.name,
        "connector": table.connector,
        "mode": "lookup" if isinstance(access, Lookup) else "broadcast",
        "primary_key": list(table.primary_key),
        "columns": [{"name": c.name, "type": c.type} for c in table.columns],
        **told,
        "dead_letter": table.dead_letter,
        "options": masked_options(connectors[table.connector], table.options),
    }


def temporal_data(facts: TemporalFacts, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    join = facts.join
    return {
        "kind": "temporal_join",
        "how": str(join.how),
        "keys": keys_data(join.keys),
        "salt": join.salt,
        "direction": str(join.direction),
        "tolerance_us": join.tolerance,
        "deletes": text_or_none(join.deletes),
        "version": facts.version,
        "strategy": str(facts.strategy),
        "held": list(facts.held),
        "state": facts.state,
        "sides": [
            input_data(side, node)
            for side, node in zip((join.left, join.right), nodes, strict=True)
        ],
        "late": late_data(join.late),
        "limit": limit_data(join.limit),
        "comes_out": list(facts.comes_out),
    }


def bounded_data(facts: JoinFacts, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    join = facts.join
    return {
        "kind": "window_join" if isinstance(join, WindowJoin) else "interval_join",
        "how": str(join.how),
        "keys": keys_data(join.keys),
        "salt": join.salt,
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
        "late": late_data(join.late),
        "limit": limit_data(join.limit),
        "comes_out": list(facts.comes_out),
    }


def _windows(join: BoundedJoin) -> dict[str, Any]:
    if not isinstance(join, WindowJoin):
        return {}
    windows = [window_data(window) for window in join.windows]
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
