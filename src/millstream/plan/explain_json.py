"""The facts of `explain` as data: spans in microseconds, policies by their names."""

from __future__ import annotations

from typing import Any

from millstream.plan.check import (
    JoinFacts,
    PipelineFacts,
    SideFacts,
    check_job,
    hold_of,
    join_facts,
)
from millstream.plan.nodes import IntervalJoin, Job, Node, Select, SinkDef, Source
from millstream.plan.secrets import masked


def explain_json(job: Job) -> dict[str, Any]:
    """The job as JSON-able data, with the same facts as `explain`."""
    return {
        "settings": _options(job.settings),
        "sinks": [_sink(sink) for sink in job.sinks],
        "pipelines": [_pipeline(facts) for facts in check_job(job)],
    }


def _options(options: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: masked(name, value) for name, value in options}


def _sink(sink: SinkDef) -> dict[str, Any]:
    return {"name": sink.name, "connector": sink.connector, "options": _options(sink.options)}


def _pipeline(facts: PipelineFacts) -> dict[str, Any]:
    pipeline = facts.pipeline
    return {
        "name": pipeline.name,
        "engine": str(facts.engine),
        "reason": facts.reason,
        "strategy": {"kind": facts.strategy.kind, "key": facts.strategy.key},
        "emit": str(pipeline.emit) if pipeline.emit else None,
        "sink": _sink(pipeline.sink),
        "root": _node(pipeline.root),
    }


def _node(node: Node) -> dict[str, Any]:
    if isinstance(node, Source):
        return _source(node)
    if isinstance(node, Select):
        hold = hold_of(node)
        return {
            "kind": "select",
            "outputs": [{"sql": o.sql, "name": o.name, "type": o.type} for o in node.outputs],
            "where": node.where,
            "alias": node.alias,
            "time": hold.time if hold else None,
            "hold_us": hold.hold if hold else None,
            "input": _node(node.input),
        }
    return _join(node, join_facts(node))


def _source(source: Source) -> dict[str, Any]:
    watermark = source.watermark
    return {
        "kind": "source",
        "name": source.name,
        "connector": source.connector,
        "columns": [{"name": c.name, "type": c.type} for c in source.columns],
        "watermark": {"column": watermark.column, "delay_us": watermark.delay}
        if watermark
        else None,
        "event_missing": str(source.missing_time),
        "malformed": str(source.malformed),
        "dead_letter": source.dead_letter,
        "options": _options(source.options),
    }


def _join(join: IntervalJoin, facts: JoinFacts) -> dict[str, Any]:
    return {
        "kind": "interval_join",
        "how": str(join.how),
        "keys": [{"left": key.left, "right": key.right} for key in join.keys],
        "bounds_us": [join.bounds.lower, join.bounds.upper],
        "predicates": [text for _, text in facts.predicates],
        "only_spark": join.only_spark,
        "strategy": str(facts.strategy),
        "sides": [
            _side(facts.left, join.left.used, _node(join.left.node)),
            _side(facts.right, join.right.used, _node(join.right.node)),
        ],
        "retention_us": join.retention,
        "late": {"action": str(join.late.action), "sink": join.late.sink},
        "limit": {
            "max_rows": join.limit.max_rows,
            "max_bytes": join.limit.max_bytes,
            "on_limit": str(join.limit.on_limit),
        },
        "comes_out": list(facts.comes_out),
    }


def _side(side: SideFacts, used: tuple[str, ...], node: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": side.name,
        "alias": side.alias,
        "time": side.time,
        "delay_us": side.delay,
        "held_us": side.held,
        "why": side.why,
        "state": side.state,
        "columns_held": list(used),
        "node": node,
    }
