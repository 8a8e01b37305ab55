"""What follows from joins that bound no distance of times: of sessions, and regular ones."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.facts.joins import (
    join_key,
    lag_of_results,
    moved,
    predicates_of,
    stream_name,
)
from millstream.plan.facts.strategies import Strategy, spread
from millstream.plan.nodes import Input, RegularJoin, SessionJoin
from millstream.temporal import Emit, format_span
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class PairFacts:
    join: SessionJoin | RegularJoin
    strategy: Strategy
    held: tuple[str, ...]
    state: str
    comes_out: tuple[str, ...]

    @property
    def operator(self) -> SessionJoin | RegularJoin:
        return self.join

    @property
    def predicates(self) -> list[tuple[str, str]]:
        return predicates_of(self.join) if isinstance(self.join, RegularJoin) else []


def session_facts(join: SessionJoin) -> PairFacts:
    names = stream_name(join.left), stream_name(join.right)
    last = format_span(join.gap + join.lateness)
    held = tuple(
        f"a session of {one} is held until the watermark passes its last row + {last}, and as "
        f"long as one of {other} is open that it has met"
        for one, other in (names, names[::-1])
    )
    state = f"rows of open sessions of {names[0]} and {names[1]}, and of those that they have met"
    return PairFacts(join, spread(join, join_key(join)), held, state, _sessions_out(join, names))


def _sessions_out(join: SessionJoin, names: tuple[str, str]) -> tuple[str, ...]:
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
    for keeps, name in zip((join.how.keeps_left, join.how.keeps_right), names, strict=True):
        if keeps:
            passed = f"once the watermark has passed its end{more}"
            told.append(f"a row of {name} whose session met none {passed}")
    return tuple(told)


def regular_facts(join: RegularJoin) -> PairFacts:
    sides = join.left, join.right
    held = tuple(
        _row_held(join, side, changes)
        for side, changes in zip(sides, join.over_changes, strict=True)
    )
    state = " and ".join(_rows(join, side) for side in sides)
    return PairFacts(join, spread(join, join_key(join)), held, state, _regular_out(join))


def _row_held(join: RegularJoin, side: Input, changes: bool) -> str:
    name, or_gone = stream_name(side), ", or until they are taken back" if changes else ""
    if join.ttl is None:
        return f"{name} rows are held for ever, as 'state.ttl' = 'forever' asks{or_gone}"
    until = moved(str(side.time), join.ttl)
    return f"{name} rows are held until the watermark passes {until}, as 'state.ttl' asks{or_gone}"


def _rows(join: RegularJoin, side: Input) -> str:
    if join.ttl is None:
        return f"every row of {stream_name(side)} that ever came"
    lag = lag_of_results(join)
    span = join.ttl + (side.delay if lag is None else lag)
    return f"rows of {format_span(span)} of {stream_name(side)}"


def _regular_out(join: RegularJoin) -> tuple[str, ...]:
    left, right = stream_name(join.left), stream_name(join.right)
    if join.how is JoinType.SEMI:
        told = [f"a row of {left} once, when its first partner is there"]
        if join.over_changes[1]:
            told.append("-D when its last partner is taken back")
    elif join.how is JoinType.ANTI:
        told = [_alone(left)]
    else:
        told = ["a pair when its later row arrives"]
        told += [_alone(left)] if join.how.keeps_left else []
        told += [_alone(right)] if join.how.keeps_right else []
    taken = [name for name, on in zip((left, right), join.over_changes, strict=True) if on]
    if taken and not join.how.left_only:
        told.append(f"-D for each pair of a row of {' or '.join(taken)} that is taken back")
    elif join.over_changes[0]:
        told.append(f"-D for a row of {left} that is taken back")
    return tuple(told)


def _alone(name: str) -> str:
    return (
        f"a row of {name} without a partner at once; -D when a partner comes, and +I again when "
        "the last one is taken back"
    )
