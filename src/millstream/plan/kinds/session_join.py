"""The session join: rows of sessions of both sides that meet."""

from __future__ import annotations

from millstream.plan.document import Description, data, fact, text
from millstream.plan.document.formats import lateness_fact
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds.base import (
    OperatorFacts,
    StateFacts,
    StreamJoinKind,
    TimeFix,
    NoEventTime,
)
from millstream.plan.kinds.operator_properties import WINDOW_JOIN
from millstream.plan.kinds.stream_joins import describe_join, names_of
from millstream.plan.kinds.stream_names import stream_name
from millstream.plan.nodes import SessionJoin
from millstream.temporal import Emit, Window, WindowKind, format_span
from millstream.values import JoinType


def _state(join: SessionJoin) -> StateFacts:
    names = stream_name(join.left), stream_name(join.right)
    last = format_span(join.gap + join.lateness)
    held = tuple(
        f"a session of {one} is held until the watermark passes its last row + {last}, and as "
        f"long as one of {other} is open that it has met"
        for one, other in (names, names[::-1])
    )
    state = f"rows of open sessions of {names[0]} and {names[1]}, and of those that they have met"
    return StateFacts(held, state, _emits(join, names))


def _emits(join: SessionJoin, names: tuple[str, str]) -> tuple[str, ...]:
    more = f" + {format_span(join.lateness)}" if join.lateness else ""
    closed = f"once the watermark has passed the end of both sessions{more}"
    if join.emit is Emit.CHANGES:
        closed = "as soon as their sessions meet"
    told = []
    if join.how is JoinType.SEMI:
        closed = closed.replace("their sessions meet", "its session meets one")
        told.append(f"a row of {names[0]} once, {closed}")
    elif join.how is not JoinType.ANTI:
        told.append(f"two rows {closed}")
    for keeps, name in zip((join.how.preserves_left, join.how.preserves_right), names, strict=True):
        if keeps:
            passed = f"once the watermark has passed its end{more}"
            told.append(f"a row of {name} whose session met none {passed}")
    return tuple(told)


def _describe(join: SessionJoin, facts: OperatorFacts) -> Description:
    gap = format_span(join.gap)
    own = (
        data("gap_us", join.gap),
        text("window", f"sessions of each side with a gap of {gap}, joined if they share a moment"),
        lateness_fact(join.lateness),
        fact("emit", str(join.emit), "emit", str(join.emit)),
        data("retracts", join.retracts),
    )
    return describe_join("Session join", join, facts, own)


def _missing_time(join: SessionJoin) -> NoEventTime | None:
    if join.emit is Emit.FINAL:
        return None
    return NoEventTime("joins sessions as they meet", TimeFix.EMIT_FINAL)


KIND = StreamJoinKind[SessionJoin](
    name="session_join",
    state=_state,
    describe=_describe,
    label=lambda join, inputs: f"{join.how} session join of {inputs}",
    summary=lambda join: f"{join.how} join of sessions of {' and '.join(names_of(join))}",
    # A row just at the end of a session would still extend it.
    watermark_delay=lambda join, _: join.lateness + 1,
    native_limitation=lambda _: "Spark has no join of sessions",
    emit=lambda join: join.emit,
    window=lambda join: Window(WindowKind.SESSION, join.gap, join.gap),
    has_window_time=lambda join: join.emit is Emit.FINAL,
    no_event_time=_missing_time,
    type=JoinKind.WINDOW,
    properties=lambda _: WINDOW_JOIN,
    emits_window=True,
)
