"""What a checkpoint depends on, in words: a plan that differs in one must not go on from it.

Left out is what state does not depend on: the columns and filter above the last operator, late
policy, places, and options of connectors but where a sink writes. Where results may be taken back,
those columns and that filter count, too: with others, rows would be taken back that the sink never
got.
"""

from __future__ import annotations

from typing import Any

from millstream.plan.explain.secrets import masked
from millstream.plan.facts.check import choose_engine
from millstream.plan.facts.described import operator_described, source_described, stream_described
from millstream.plan.nodes import Pipeline
from millstream.plan.walk import operators_of, retracts, sources_of
from millstream.temporal import OutputMode

# Raised when state or the order of Spark's sources changes: 4, each operator reads the control
# stream once.
VERSION = 4


def fingerprint(pipeline: Pipeline) -> dict[str, Any]:
    """A canonical, JSON-able description of all that a pipeline's checkpoint depends on."""
    return {
        "version": VERSION,
        "engine": str(choose_engine(pipeline)[0]),
        "sink": {
            "name": pipeline.sink.name,
            "connector": pipeline.sink.connector,
            "path": masked("path", pipeline.sink.option("path")),
            "format": pipeline.sink.option("format"),
            **({} if pipeline.mode is OutputMode.APPEND else {"mode": str(pipeline.mode)}),
        },
        "source": {source.name: source_described(source) for source in sources_of(pipeline.root)},
        **({"result": stream_described(pipeline.root)} if retracts(pipeline.root) else {}),
        "operators": [operator_described(operator) for operator in operators_of(pipeline.root)],
    }


def diff(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What changed, a sentence each: "join bound: [0s, 1d] -> [0s, 2d]"."""
    before, after = (
        {name: value for name, value in told.items() if name != "operators"} for told in (old, new)
    )
    changes = _changes("", before, after)
    held, asked = (_by_name(told.get("operators", [])) for told in (old, new))
    for name in [*held, *(name for name in asked if name not in held)]:
        changes += _changes(name, held.get(name), asked.get(name))
    return changes


def _by_name(operators: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Operators by what they are, those of one kind numbered."""
    named: dict[str, dict[str, Any]] = {}
    for operator in operators:
        kind = operator["operator"]
        number = sum(1 for name in named if name.split(" #")[0] == kind) + 1
        facts = {name: value for name, value in operator.items() if name != "operator"}
        named[kind if number == 1 else f"{kind} #{number}"] = facts
    return named


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
