"""Validates the inputs of operators: event time, and rows that are not retracted."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import Place, PlanError
from millstream.plan.kinds import kind_of
from millstream.plan.kinds.base import NoEventTime, TimeFix
from millstream.plan.nodes import Join, Select, Source, UnionAll
from millstream.plan.nodes.traversal import can_retract, upsert_source_of, upstream_of
from millstream.plan.resolve.names import query_phrase
from millstream.sql.statements import Property
from millstream.temporal import LateAction, LatePolicy
from millstream.values import JoinType

BOUNDED_JOIN = "a join by event time"
JOIN_OF_QUERY = "the join"  # of the same query


def require_event_time(
    name: str, node: Source | Select, time: str | None, place: Place | None
) -> str:
    """Returns the event time of a stream; raises an error with the reason if it has none."""
    if time is not None:
        return time
    if isinstance(node, Source):
        column = next(
            (c.name for c in node.columns if (c.type or "").upper().startswith("TIMESTAMP")),
            "event_time",
        )
        cause = f"{name} has no watermark, so its rows would never expire from state."
        fix = f"Declare WATERMARK FOR {column} AS {column} - INTERVAL 5 SECONDS in {name}."
    elif isinstance(upstream_of(node), UnionAll):
        cause = f"{name} has no event time: the queries of its UNION ALL have none in common."
        fix = "Select the event time of each query at the same position, unchanged."
    elif why := missing_time_reason(name, node):
        cause, fix = (f"{text}." for text in why)
    elif isinstance(node.input, Join) and node.input.how is JoinType.FULL:
        cause = "a FULL JOIN pads either side, so its rows have no event time."
        fix = "Join with LEFT or RIGHT."
    elif not isinstance(below := upstream_of(node), Source) or below.time is not None:
        cause = f"{name} does not carry the event time of its input."
        fix = "Select the event-time column there, unchanged; it may have another name."
    else:
        cause = f"{below.name}, the source of {name}, has no watermark."
        fix = f"Declare one in {below.name}, and select its column unchanged."
    raise PlanError("MS-PLAN-NO-WATERMARK", cause, fix=fix, place=place)


def missing_time_reason(name: str, node: Source | Select) -> tuple[str, str] | None:
    """Returns why the operator of a stream has results without event time, and a fix, or None."""
    below = upstream_of(node)
    if isinstance(below, Source | UnionAll):
        return None
    found = kind_of(below).no_event_time(below)
    if found is None and below.retracts:
        found = NoEventTime("can retract rows at any time", TimeFix.WINDOW)
    if found is None:
        return None
    return f"{name} {found.cause}, so its rows have no event time", _fix(found.fix, name)


def _fix(fix: TimeFix, name: str) -> str:
    match fix:
        case TimeFix.EMIT_FINAL:
            return f"Write EMIT FINAL in {query_phrase(name)}"
        case TimeFix.WINDOW:
            return f"Give {query_phrase(name)} a WINDOW"
        case TimeFix.BOUND if name == JOIN_OF_QUERY:  # a WINDOW would be for the operator above
            return "Give the join a time bound"
        case TimeFix.BOUND:
            return f"Give the join in {query_phrase(name)} a time bound, or a WINDOW"


def retraction_fix(node: Source | Select, name: str) -> str:
    """Returns a fix for a stream that must not retract rows."""
    below = upsert_source_of(node) or upstream_of(node)
    if isinstance(below, Source):
        return f"Declare the column _OP STRING in {below.name}, so that changes are ordinary rows"
    if not isinstance(below, UnionAll) and not kind_of(below).has_change_key:
        return _fix(TimeFix.BOUND, name)
    return f"Write EMIT FINAL in {query_phrase(name)}, with a WINDOW and no 'window.lateness'"


def reject_expiring_groups(node: Source | Select, name: str, place: Place | None) -> None:
    """Rejects a stream whose groups expire without a retraction.

    If a row of an expired group arrives, the group is emitted as new, and an aggregate over the
    stream would count it twice.
    """
    below = upstream_of(node)
    if isinstance(below, Source | UnionAll):
        return
    if kind_of(below).expires_without_retraction(below):
        raise PlanError(
            "MS-PLAN-RETRACT",
            f"groups of {name} expire after 'state.ttl' without a retraction, so a group that "
            "reappears would count twice.",
            fix=f"Write 'state.ttl' = 'forever' in {query_phrase(name)}, or give it a WINDOW.",
            place=place,
        )


def reject_retractions(
    node: Source | Select, name: str, operator: str, place: Place | None
) -> None:
    """Rejects a stream that retracts rows."""
    if not can_retract(node):
        return
    fix = retraction_fix(node, name)
    if operator == BOUNDED_JOIN:
        fix += ", or join without a bound and with 'state.ttl' = 'forever'"
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{name} retracts rows, which {operator} does not support.",
        fix=f"{fix}.",
        place=place,
    )


def reject_late_retractions(
    late: LatePolicy, properties: Mapping[str, Property], name: str, way_out: str
) -> None:
    """Rejects late policies other than drop for a stream that retracts rows.

    The retraction of a late row would be processed as an ordinary row.
    """
    if late.action is LateAction.DROP:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{name} retracts rows, and with 'late.policy' = '{late.action}' a late retraction would "
        "be processed as a new row.",
        fix=f"Remove 'late.policy', or {way_out[0].lower()}{way_out[1:]}.",
        place=properties["late.policy"].place,
    )
