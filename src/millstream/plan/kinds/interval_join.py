"""Describes the interval join, and what it shares with the window join.

When a row expires: a pair satisfies `left + lower <= right <= left + upper`, and a row that is not
late is not older than the watermark W. So a left row at t can find a new match while
W <= t + upper, and a right row while W <= t - lower. Then it expires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.plan.document import Description, Fact, data, fact, text
from millstream.plan.document.formats import late_fact, limit_fact, shifted_text, used_columns_text
from millstream.plan.kinds import stream_joins
from millstream.plan.kinds.base import (
    OperatorFacts,
    StateFacts,
    StreamJoinKind,
    late_and_limit_limitation,
)
from millstream.plan.kinds.operator_properties import JOIN
from millstream.plan.kinds.stream_names import input_name, results_delay, with_alias
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.nodes import BoundedJoin, Input, IntervalJoin, JoinKind
from millstream.temporal import format_span
from millstream.values import JoinType

SALT_LIMITATION = "Spark distributes rows by their key only"


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side of a join.

    Attributes:
        match_delay: How long after its own time a row can find a new match.
        retention: The value of 'join.retention'.
        window: The size of the window that ends just after `time`.
        last_window_delay: How long after that window the last window of its rows ends.
        copies: The number of windows that a row is in.
        results_delay: The watermark's delay behind the sources, if it is more than `delay`.
    """

    name: str
    alias: str
    time: str
    delay: int
    match_delay: int
    retention: int | None
    window: int | None = None
    last_window_delay: int = 0
    lateness: int = 0
    copies: int = 1
    results_delay: int | None = None

    @property
    def window_expiry(self) -> str:
        """The watermark at which the rows of a window expire."""
        more = self.last_window_delay + self.lateness + self.match_delay
        return f"the end of its window{f' + {format_span(more)}' if more else ''}"

    @property
    def expires_after(self) -> int:
        """How long after its own time a row stays in state."""
        return max(
            self.match_delay, self.retention if self.retention is not None else self.match_delay
        )

    @property
    def expiry(self) -> str:
        """When a row leaves the state."""
        if self.window is not None:
            return f"{self.name}: when the watermark reaches {self.window_expiry}"
        last_match = shifted_text(self.time, self.match_delay)
        if self.expires_after == self.match_delay:
            return f"{self.name}: when the watermark passes {last_match}; no later row can match"
        return (
            f"{self.name}: when the watermark passes "
            f"{shifted_text(self.time, self.expires_after)} ('join.retention'); "
            f"no match after {last_match}"
        )

    @property
    def state_size(self) -> str:
        """An estimate of the state if both streams advance equally fast."""
        delay = self.delay if self.results_delay is None else self.results_delay
        span = (
            self.expires_after + delay + (self.window or 0) + self.last_window_delay + self.lateness
        )
        copies = f" ({self.copies} windows per row)" if self.copies > 1 else ""
        return f"the last {format_span(max(span, 0))} of {self.name}{copies}"

    @property
    def unmatched(self) -> str:
        """When an unmatched row is emitted."""
        after = f"passes {shifted_text(self.time, self.match_delay)}"
        if self.window is not None:
            after = f"reaches {self.window_expiry}"
        return f"an unmatched row of {self.name} when the watermark {after}"


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
        match_delay=_match_delay(join, number),
        retention=join.retention,
        results_delay=results_delay(join),
    )


def _match_delay(join: IntervalJoin, number: int) -> int:
    """Returns how long after its own time a row of a side can find a new match."""
    return -join.bounds.lower if number else join.bounds.upper


def state_facts(join: BoundedJoin, sides: Sides) -> StateFacts:
    left, right = sides
    state = f"{left.state_size} and {right.state_size}"
    return StateFacts((left.expiry, right.expiry), state, _emits(join, sides))


def _emits(join: BoundedJoin, sides: Sides) -> tuple[str, ...]:
    emits = []
    if join.how is JoinType.SEMI:
        emits.append(f"a row of {sides[0].name} once, when its first match arrives")
    elif join.how is not JoinType.ANTI:
        emits.append("a pair when its later row arrives")
    preserved = (join.how.preserves_left, join.how.preserves_right)
    emits += [
        side.unmatched for is_preserved, side in zip(preserved, sides, strict=True) if is_preserved
    ]
    return tuple(emits)


def bound_text(join: BoundedJoin) -> str:
    left, right = join.left, join.right
    return f"{right.alias}.{right.time} - {left.alias}.{left.time} in {join.bounds}"


def describe_bounded_join(
    title: str, join: BoundedJoin, facts: OperatorFacts, sides: Sides, windows: Sequence[Fact] = ()
) -> Description:
    left, right = sides
    retention = () if join.retention is None else (format_span(join.retention),)
    return Description(
        f"{title} join, {join.how}: {_side_title(left)}, {_side_title(right)}",
        (
            *stream_joins.opening_facts(join, facts),
            stream_joins.salt_fact(join),
            *windows,
            fact("bounds_us", [join.bounds.lower, join.bounds.upper], "bound", bound_text(join)),
            stream_joins.watermark_fact(join),
            *stream_joins.predicate_facts(join),
            text("expiry", *facts.expiry),
            text("state size", facts.state_size),
            text(
                "in state",
                f"{left.name}: {used_columns_text(join.left)}",
                f"{right.name}: {used_columns_text(join.right)}",
            ),
            fact("retention_us", join.retention, "retention", *retention),
            late_fact(join.late),
            limit_fact(join.limit),
            stream_joins.emits_fact(facts),
        ),
        (_side_facts(left, join.left), _side_facts(right, join.right)),
    )


def _side_title(side: SideFacts) -> str:
    return with_alias(side.name, side.alias)


def _side_facts(side: SideFacts, read: Input) -> tuple[Fact, ...]:
    return (
        data("name", side.name),
        data("expires_after_us", side.expires_after),
        data("expiry", side.expiry),
        data("state_size", side.state_size),
        *([] if read.progress is None else [data("progress", read.progress)]),
    )


def _native_limitation(join: IntervalJoin) -> str:
    if join.salt > 1:
        return SALT_LIMITATION
    if join.how is JoinType.ANTI:
        return "Spark has no LEFT ANTI join of two streams"
    if reason := late_and_limit_limitation(join):
        return reason
    if join.retention is not None and join.retention > longest_match_delay(join):
        return "Spark keeps rows for as long as the bound needs, not for 'join.retention'"
    return ""


def longest_match_delay(join: BoundedJoin) -> int:
    """Returns the longest time that a row of either side waits for a match."""
    return max(join.bounds.upper, -join.bounds.lower, 0)


def join_label(join: BoundedJoin, inputs: str) -> str:
    return f"{join.how} join of {inputs}"


def join_summary(join: BoundedJoin, sides: Sides) -> str:
    return f"{join.how} join of {' and '.join(f'{side.name} {side.alias}' for side in sides)}"


def time_bounds_of(join: BoundedJoin) -> TimeBounds:
    return TimeBounds(join.bounds.lower, join.bounds.upper)


def _stays_in_group(join: IntervalJoin) -> bool:
    """Returns whether pairs stay in the key group of their key without a filter by Spark."""
    return join.how is JoinType.INNER and not join.only_spark and join.salt == 1


KIND = StreamJoinKind[IntervalJoin](
    name="interval_join",
    state=lambda join: state_facts(join, sides_of(join)),
    describe=lambda join, facts: describe_bounded_join("Interval", join, facts, sides_of(join)),
    label=join_label,
    summary=lambda join: join_summary(join, sides_of(join)),
    watermark_delay=lambda join, number: max(_match_delay(join, number), 0),
    columnar_limitation=stream_joins.columnar_limitation,
    unsupported_part=lambda join: join.unsupported,
    native_limitation=_native_limitation,
    type=JoinKind.INTERVAL,
    properties=lambda _: JOIN,
    matching=stream_joins.matching_of,
    salt=lambda join: join.salt,
    bound=bound_text,
    time_bounds=time_bounds_of,
    shared_inputs=lambda join: (0, 1) if join.salt == 1 else (),
    stays_in_group=_stays_in_group,
)
