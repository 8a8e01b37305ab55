"""What a checkpoint depends on, in words: a plan that differs in one must not go on from it.

Left out is what state does not depend on: the columns and filter above a join, late policy, places,
and options of connectors but where a sink writes.
"""

from __future__ import annotations

from typing import Any

from millstream.plan.check import choose_engine
from millstream.plan.nodes import (
    Compare,
    Input,
    IntervalJoin,
    Node,
    Pipeline,
    Predicate,
    Select,
    Source,
)
from millstream.plan.walk import joins_of, sources_of
from millstream.temporal import format_span

VERSION = 1


def fingerprint(pipeline: Pipeline) -> dict[str, Any]:
    """A canonical, JSON-able description of all that a pipeline's checkpoint depends on."""
    joins = joins_of(pipeline.root)
    return {
        "version": VERSION,
        "engine": str(choose_engine(pipeline)[0]),
        "sink": {
            "name": pipeline.sink.name,
            "connector": pipeline.sink.connector,
            "path": pipeline.sink.option("path"),
            "format": pipeline.sink.option("format"),
        },
        "source": {source.name: _source(source) for source in sources_of(pipeline.root)},
        "join": _join(joins[0]) if joins else None,
    }


def diff(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What changed, a sentence each: "join bound: [0s, 1d] -> [0s, 2d]"."""
    return list(_changes("", old, new))


def _changes(path: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        changes = []
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path} {key}".strip()
            if key not in new:
                changes.append(f"{inner} is gone")
            elif key not in old:
                changes.append(f"{inner} is new: {_say(new[key])}")
            else:
                changes += _changes(inner, old[key], new[key])
        return changes
    return [] if old == new else [f"{path}: {_say(old)} -> {_say(new)}"]


def _say(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_say(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(_say(item) for item in value) or "none"
    return "none" if value is None or value == "" else str(value)


def _source(source: Source) -> dict[str, Any]:
    watermark = source.watermark
    return {
        "connector": source.connector,
        "column": {column.name: column.type for column in source.columns},
        "watermark": f"{watermark.column} - {format_span(watermark.delay)}" if watermark else None,
    }


def _join(join: IntervalJoin) -> dict[str, Any]:
    return {
        "type": str(join.how),
        "key": [f"{key.left} = {key.right}" for key in join.keys],
        "bound": str(join.bounds),
        "left": _side(join.left, join.left_where),
        "right": _side(join.right, join.right_where),
        "predicate": join.across_sql,
        "kernel predicate": _predicate(join.across),
        "retention": None if join.retention is None else format_span(join.retention),
    }


def _side(side: Input, where: str | None) -> dict[str, Any]:
    return {
        "alias": side.alias,
        "input": _stream(side.node),
        "time": side.time,
        "delay": format_span(side.delay),
        "filter": where,
        "columns held": list(side.used),
    }


def _stream(node: Node) -> Any:
    """A stateless stream below a join: its filters and columns decide what the state holds."""
    if isinstance(node, Source):
        return node.name
    if isinstance(node, Select):
        return {
            "columns": [f"{output.sql} AS {output.name}" for output in node.outputs],
            "where": node.where,
            "of": _stream(node.input),
        }
    return _join(node)


def _predicate(predicate: Predicate | None) -> str | None:
    if predicate is None:
        return None
    if isinstance(predicate, Compare):
        return f"{predicate.left} {predicate.op} {predicate.right}"
    terms = [f"({_predicate(term)})" for term in predicate.terms]
    return f"not {terms[0]}" if predicate.op == "not" else f" {predicate.op} ".join(terms)
