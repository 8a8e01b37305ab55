"""Describes the session join: rows of overlapping sessions of both sides."""

from __future__ import annotations

from millstream.plan.document import Description, data, fact, text
from millstream.plan.document.formats import lateness_fact
from millstream.plan.kinds.base import (
    Matching,
    NoEventTime,
    OperatorFacts,
    StateFacts,
    StreamJoinKind,
    TimeFix,
)
from millstream.plan.kinds.operator_properties import WINDOW_JOIN
from millstream.plan.kinds.stream_joins import columnar_limitation, describe_join, names_of
from millstream.plan.kinds.stream_names import stream_name
from millstream.plan.nodes import JoinKind, SessionJoin
from millstream.temporal import Emit, Window, WindowKind, format_span
from millstream.values import JoinType


def _state(join: SessionJoin) -> StateFacts:
    names = stream_name(join.left), stream_name(join.right)
    last = format_span(join.gap + join.lateness)
    expiry = tuple(
        f"a session of {one} when the watermark passes its last row + {last}, and no overlapping "
        f"session of {other} is open"
        for one, other in (names, names[::-1])
    )
    state = f"open sessions of {names[0]} and {names[1]}, and sessions that overlap them"
    return StateFacts(expiry, state, _emits(join, names))


def _emits(join: SessionJoin, names: tuple[str, str]) -> tuple[str, ...]:
    more = f" + {format_span(join.lateness)}" if join.lateness else ""
    when = f"when the watermark passes the end of both sessions{more}"
    if join.emit is Emit.CHANGES:
        when = "as soon as their sessions overlap"
    emits = []
    if join.how is JoinType.SEMI:
        when = when.replace("their sessions overlap", "its session overlaps another")
        emits.append(f"a row of {names[0]} once, {when}")
    elif join.how is not JoinType.ANTI:
        emits.append(f"a pair {when}")
    preserved = (join.how.preserves_left, join.how.preserves_right)
    for is_preserved, name in zip(preserved, names, strict=True):
        if is_preserved:
            end = f"the end of its session{more}"
            if join.across_sql:
                end = f"the end of its session and of all that overlap it{more}"
            emits.append(f"an unmatched row of {name} when the watermark passes {end}")
    return tuple(emits)


def _describe(join: SessionJoin, facts: OperatorFacts) -> Description:
    gap = format_span(join.gap)
    own = (
        data("gap_us", join.gap),
        text("window", f"sessions of each side with a gap of {gap}; overlapping ones are joined"),
        lateness_fact(join.lateness),
        fact("emit", str(join.emit), "emit", str(join.emit)),
        data("retracts", join.retracts),
    )
    predicate = fact(
        "predicates",
        [str(join.across_sql)] if join.across_sql else [],
        "on pairs",
        *([f"{join.across_sql} (evaluated by the join)"] if join.across_sql else []),
    )
    return describe_join(
        "Session join", join, facts, own, predicates=(predicate,) if join.across_sql else ()
    )


def _missing_time(join: SessionJoin) -> NoEventTime | None:
    if join.emit is Emit.FINAL:
        return None
    return NoEventTime("joins sessions before they close", TimeFix.EMIT_FINAL)


KIND = StreamJoinKind[SessionJoin](
    name="session_join",
    state=_state,
    describe=_describe,
    label=lambda join, inputs: f"{join.how} session join of {inputs}",
    summary=lambda join: f"{join.how} join of sessions of {' and '.join(names_of(join))}",
    # A row just at the end of a session would still extend it.
    watermark_delay=lambda join, _: join.lateness + 1,
    columnar_limitation=columnar_limitation,
    unsupported_part=lambda join: join.unsupported,
    native_limitation=lambda _: "Spark has no join of sessions",
    emit=lambda join: join.emit,
    window=lambda join: Window(WindowKind.SESSION, join.gap, join.gap),
    has_window_time=lambda join: join.emit is Emit.FINAL,
    no_event_time=_missing_time,
    type=JoinKind.WINDOW,
    properties=lambda _: WINDOW_JOIN,
    emits_window=True,
    matching=lambda join: Matching(across=join.across, across_sql=join.across_sql),
)
