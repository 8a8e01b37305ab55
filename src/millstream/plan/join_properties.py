"""Properties of a join that are no bounds: late rows, retention, limits of state."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from millstream.errors import PlanError, PropertyError
from millstream.plan.names import nearest, same
from millstream.plan.refuse import not_yet
from millstream.sql.statements import Property
from millstream.temporal import (
    Bounds,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
    format_span,
    parse_span,
)


def late_policy(properties: Mapping[str, Property], sinks: Collection[str]) -> LatePolicy:
    policy, sink = properties.get("late.policy"), properties.get("late.sink")
    action = LateAction(policy.value.lower()) if policy else LateAction.DROP
    if action is LateAction.REASSIGN:
        raise not_yet("'late.policy' = 'reassign'", policy.place if policy else None)
    if sink is None:
        return LatePolicy(action)
    if action is not LateAction.SIDE_OUTPUT:
        raise PlanError(
            "MS-PLAN-LATE-SINK",
            f"'late.sink' names {sink.value}, but late rows are dropped.",
            fix="Add 'late.policy' = 'side_output'.",
            place=sink.place,
        )
    known = next((name for name in sinks if same(name, sink.value)), None)
    if known is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-SINK",
            f"'late.sink' names {sink.value}, which is not declared.",
            fix=nearest(sink.value, sinks) or f"Add CREATE SINK {sink.value} WITH (…);",
            place=sink.value_place,
        )
    return LatePolicy(action, sink=known)


def retention_of(properties: Mapping[str, Property], bounds: Bounds) -> int | None:
    given = properties.get("join.retention")
    if given is None:
        return None
    retention, needed = parse_span(given.value), max(bounds.upper, -bounds.lower, 0)
    if retention < needed:
        raise PlanError(
            "MS-PLAN-RETENTION",
            f"'join.retention' is {format_span(retention)}, but the bound {bounds} needs rows "
            f"to be kept for {format_span(needed)}.",
            fix=f"Give {format_span(needed)} or more, or leave it out.",
            place=given.value_place,
        )
    return retention


def limit_of(properties: Mapping[str, Property]) -> StateLimit:
    def number(name: str) -> int | None:
        found = properties.get(name)
        return int(found.value) if found else None

    max_rows, max_bytes = number("state.max_rows"), number("state.max_bytes")
    on_limit = properties.get("state.on_limit")
    if on_limit is None:
        return StateLimit(max_rows, max_bytes)
    if max_rows is None and max_bytes is None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'state.on_limit' says what happens at a limit, and there is none.",
            fix="Add 'state.max_rows' or 'state.max_bytes'.",
            place=on_limit.place,
        )
    return StateLimit(max_rows, max_bytes, OnLimit(on_limit.value.lower()))
