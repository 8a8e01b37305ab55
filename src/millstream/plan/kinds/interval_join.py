"""The interval join, and what it shares with the window join.

How long a row is held. A pair satisfies `left + lower <= right <= left + upper`, and a row that is
not late is not older than the watermark W. So a left row at t can meet a new partner while
W <= t + upper, a right row while W <= t - lower; after that it is let go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.plan.document import Description, Fact, data, fact, text
from millstream.plan.document.formats import late, limit, moved, used_text
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds import stream_joins
from millstream.plan.kinds.base import (
    OperatorFacts,
    StateFacts,
    StreamJoinKind,
    against_late_and_limit,
)
from millstream.plan.kinds.open_bounds import OpenBounds
from millstream.plan.kinds.operator_properties import JOIN
from millstream.plan.kinds.stream_names import input_name, lag_of_results, with_alias
from millstream.plan.nodes import BoundedJoin, Input, IntervalJoin
from millstream.temporal import format_span
from millstream.values import JoinType

SALTED = "Spark spreads rows by their key alone"


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side of a join: `shift` after its own time no new partner can come for a row."""

    name: str
    alias: str
    time: str
    delay: int
    shift: int
    retention: int | None
    window: int | None = None  # how long the window is that `time` is the last moment of
    later: int = 0  # how long after it rows may still come, which are in windows to come
    lateness: int = 0
    copies: int = 1  # how many windows a row is in
    lag: int | None = None  # how far the watermark is behind, if that is more than `delay`

    @property
    def end(self) -> str:
        """When a window's rows are let go, by the watermark that reaches it."""
        more = self.later + self.lateness + self.shift
        return f"the end of its window{f' + {format_span(more)}' if more else ''}"

    @property
    def held(self) -> int:
        """How long after its own time a row stays in state."""
        return max(self.shift, self.retention if self.retention is not None else self.shift)

    @property
    def why(self) -> str:
        if self.window is not None:
            return f"a row of {self.name} is held until the watermark reaches {self.end}"
        until = f"the watermark passes {moved(self.time, self.shift)}"
        if self.held == self.shift:
            return f"{self.name} rows are held until {until}, the last time a partner can carry"
        return (
            f"{self.name} rows are held until the watermark passes {moved(self.time, self.held)}, "
            f"as 'join.retention' asks; the last time a partner can carry is "
            f"{moved(self.time, self.shift)}"
        )

    @property
    def state(self) -> str:
        """Estimated state while both streams keep pace."""
        lag = self.delay if self.lag is None else self.lag
        span = self.held + lag + (self.window or 0) + self.later + self.lateness
        each = f", each in {self.copies} windows" if self.copies > 1 else ""
        return f"rows of {format_span(max(span, 0))} of {self.name}{each}"

    @property
    def unmatched(self) -> str:
        """When a row without a partner is emitted."""
        after = f"has passed {moved(self.time, self.shift)}"
        if self.window is not None:
            after = f"has reached {self.end}"
        return f"a row of {self.name} without a partner once the watermark {after}"


Sides = tuple[SideFacts, SideFacts]


def sides_of(join: IntervalJoin) -> Sides:
    left, right = _side(join, 0), _side(join, 1)
    return left, right


def _side(join: IntervalJoin, number: int) -> SideFacts:
    side = (join.left, join.right)[number]
    assert side.time is not None, "both sides of an interval join have an event time"
    return SideFacts(
        name=input_name(side),
        alias=side.alias,
        time=side.time,
        delay=side.delay,
        shift=_waiting(join, number),
        retention=join.retention,
        lag=lag_of_results(join),
    )


def _waiting(join: IntervalJoin, number: int) -> int:
    """How long after its own time a row of a side may still match."""
    return -join.bounds.lower if number else join.bounds.upper


def state_of(join: BoundedJoin, sides: Sides) -> StateFacts:
    left, right = sides
    state = f"{left.state} and {right.state}, while both keep pace"
    return StateFacts((left.why, right.why), state, _comes_out(join, sides))


def _comes_out(join: BoundedJoin, sides: Sides) -> tuple[str, ...]:
    told = []
    if join.how is JoinType.SEMI:
        told.append(f"a row of {sides[0].name} once, when its first partner is there")
    elif join.how is not JoinType.ANTI:
        told.append("a pair when its later row arrives")
    keeps = (join.how.keeps_left, join.how.keeps_right)
    told += [side.unmatched for kept, side in zip(keeps, sides, strict=True) if kept]
    return tuple(told)


def bound(join: BoundedJoin) -> str:
    left, right = join.left, join.right
    return f"{right.alias}.{right.time} - {left.alias}.{left.time} in {join.bounds}"


def describe(
    title: str, join: BoundedJoin, facts: OperatorFacts, sides: Sides, windows: Sequence[Fact] = ()
) -> Description:
    left, right = sides
    retention = () if join.retention is None else (format_span(join.retention),)
    return Description(
        f"{title} join, {join.how}: {_named(left)}, {_named(right)}",
        (
            *stream_joins.opening(join, facts),
            stream_joins.salted(join),
            *windows,
            fact("bounds_us", [join.bounds.lower, join.bounds.upper], "bound", bound(join)),
            stream_joins.watermark(join),
            *stream_joins.predicates_of(join),
            text("held", *facts.held),
            text("state", facts.state),
            text(
                "columns",
                f"held of {left.name}: {used_text(join.left)}",
                f"held of {right.name}: {used_text(join.right)}",
            ),
            fact("retention_us", join.retention, "retention", *retention),
            late(join.late),
            limit(join.limit),
            stream_joins.comes_out(facts),
        ),
        (_of_side(left, join.left), _of_side(right, join.right)),
    )


def _named(side: SideFacts) -> str:
    return with_alias(side.name, side.alias)


def _of_side(side: SideFacts, read: Input) -> tuple[Fact, ...]:
    return (
        data("name", side.name),
        data("held_us", side.held),
        data("why", side.why),
        data("state", side.state),
        *([] if read.progress is None else [data("progress", read.progress)]),
    )


def _against_native(join: IntervalJoin) -> str:
    if join.salt > 1:
        return SALTED
    if join.how is JoinType.ANTI:
        return "Spark has no LEFT ANTI join of two streams"
    if reason := against_late_and_limit(join):
        return reason
    if join.retention is not None and join.retention > needed_retention(join):
        return "Spark keeps rows for as long as the bound needs, not for 'join.retention'"
    return ""


def needed_retention(join: BoundedJoin) -> int:
    """The longest that a row of either side can have to wait for a partner."""
    return max(join.bounds.upper, -join.bounds.lower, 0)


def label(join: BoundedJoin, inputs: str) -> str:
    return f"{join.how} join of {inputs}"


def summary_of(join: BoundedJoin, sides: Sides) -> str:
    return f"{join.how} join of {' and '.join(f'{side.name} {side.alias}' for side in sides)}"


def apart(join: BoundedJoin) -> OpenBounds:
    return OpenBounds(join.bounds.lower, join.bounds.upper)


def _stays_in_group(join: IntervalJoin) -> bool:
    """Pairs are where their key is, and the kernel alone decides them."""
    return join.how is JoinType.INNER and not join.only_spark and join.salt == 1


KIND = StreamJoinKind[IntervalJoin](
    name="interval_join",
    state=lambda join: state_of(join, sides_of(join)),
    describe=lambda join, facts: describe("Interval", join, facts, sides_of(join)),
    label=label,
    summary=lambda join: summary_of(join, sides_of(join)),
    watermark_delay=lambda join, number: max(_waiting(join, number), 0),
    against_columnar=stream_joins.against_columnar,
    against_native=_against_native,
    type=JoinKind.INTERVAL,
    properties=lambda _: JOIN,
    matching=stream_joins.matching,
    salt=lambda join: join.salt,
    bound=bound,
    apart=apart,
    shared_inputs=lambda join: (0, 1) if join.salt == 1 else (),
    stays_in_group=_stays_in_group,
)
