"""What follows from an interval join: how long rows are held, where they go, what comes out when.

How long a row is held. A pair satisfies `left + lower <= right <= left + upper`, and a row that is
not late is not older than the watermark W. So a left row at t can meet a new partner while
W <= t + upper, a right row while W <= t - lower; after that it is let go.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.facts.strategies import Strategy, spread
from millstream.plan.joins.window_pairs import pair_of
from millstream.plan.nodes import (
    BoundedJoin,
    Input,
    Join,
    Node,
    RegularJoin,
    Select,
    Source,
    TemporalJoin,
    WindowJoin,
)
from millstream.plan.walk import bottom_of, inputs_of
from millstream.temporal import format_span
from millstream.values import JoinType


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


@dataclass(frozen=True, slots=True)
class JoinFacts:
    join: BoundedJoin
    left: SideFacts
    right: SideFacts
    strategy: Strategy
    comes_out: tuple[str, ...]

    @property
    def operator(self) -> BoundedJoin:
        return self.join

    @property
    def held(self) -> tuple[str, ...]:
        return self.left.why, self.right.why

    @property
    def state(self) -> str:
        return f"{self.left.state} and {self.right.state}, while both keep pace"

    @property
    def predicates(self) -> list[tuple[str, str]]:
        """The predicates beside key and bound, each with what or who decides it."""
        return predicates_of(self.join)


def predicates_of(join: BoundedJoin | RegularJoin) -> list[tuple[str, str]]:
    what = "filters" if join.how is JoinType.INNER else "decides matching"
    told = [("before", f"{text} ({what})") for text in (join.left_where, join.right_where) if text]
    if join.across_sql:
        decider = "Spark" if join.only_spark else "the join"
        told.append(("on pairs", f"{join.across_sql} ({decider} decides)"))
    return told


def salted(join: BoundedJoin | TemporalJoin) -> list[tuple[str, str]]:
    """What 'join.salt' does, if it is asked for."""
    if join.salt == 1:
        return []
    held = stream_name(join.left if join.how is JoinType.RIGHT else join.right)
    spread = f"rows of a key are spread over {join.salt} groups; {held} is held {join.salt} times"
    return [("spread", spread)]


def join_key(join: Join) -> str:
    return " and ".join(f"{key.left} = {key.right}" for key in join.keys)


def moved(time: str, span: int) -> str:
    """A column and a span as a sum or difference: "event_time + 24h"."""
    if span == 0:
        return time
    return f"{time} {'+' if span > 0 else '-'} {format_span(abs(span))}"


def name_of(node: Node, alias: str) -> str:
    """What a stream is called: a source by its name, anything else by its alias."""
    return node.name if isinstance(node, Source) else alias


def join_facts(join: BoundedJoin) -> JoinFacts:
    left, right = _side(join, 0), _side(join, 1)
    strategy = spread(join, join_key(join))
    return JoinFacts(join, left, right, strategy, _comes_out(join, left, right))


def _side(join: BoundedJoin, number: int) -> SideFacts:
    side = (join.left, join.right)[number]
    assert side.time is not None, "both sides of an interval join have an event time"
    windowed = join if isinstance(join, WindowJoin) else None
    pair = pair_of(*windowed.windows, join.how, ("", ""), None) if windowed else None
    return SideFacts(
        name=stream_name(side) if windowed else name_of(side.node, side.alias),
        alias=side.alias,
        time=side.time,
        delay=side.delay,
        shift=waiting(join, number),
        retention=join.retention,
        window=None if pair is None else pair.panes[number].size,
        later=0 if pair is None else pair.later[number],
        lateness=windowed.lateness if windowed else 0,
        copies=_copies(join),
        lag=lag_of_results(join),
    )


def waiting(join: BoundedJoin, number: int) -> int:
    """How long after its own time a row of a side may still match."""
    if isinstance(join, WindowJoin):
        return pair_of(*join.windows, join.how, ("", ""), None).wait(number)
    return -join.bounds.lower if number else join.bounds.upper


def lag_of_results(join: BoundedJoin | TemporalJoin | RegularJoin) -> int | None:
    """How far the watermark of a join of results is behind their sources: the operators below add
    up, and the other side waits for them. None for a join of sources."""
    sides = (join.left, join.right)
    if all(isinstance(bottom_of(side.node), Source) for side in sides):
        return None
    return max(behind_sources(side) for side in sides)


def behind_sources(side: Input) -> int:
    """How far the watermark of an input is behind its sources."""
    below = bottom_of(side.node)
    if isinstance(below, Source):
        return side.delay
    return side.delay + max(behind_sources(each) for each in inputs_of(below))


def stream_name(side: Input) -> str:
    """What a stream is called that the planner has given windows or a filter, under its alias."""
    node: Node = side.node
    while isinstance(node, Select) and node.alias == side.alias:
        node = node.input
    return name_of(node, side.alias)


def _copies(join: BoundedJoin) -> int:
    """In how many windows a row is held: of both sides alike, or in one."""
    if not isinstance(join, WindowJoin) or join.windows[0] != join.windows[1]:
        return 1
    window = join.windows[0]
    return window.size // window.slide


def _comes_out(join: BoundedJoin, left: SideFacts, right: SideFacts) -> tuple[str, ...]:
    told = []
    if join.how is JoinType.SEMI:
        told.append(f"a row of {left.name} once, when its first partner is there")
    elif join.how is not JoinType.ANTI:
        told.append("a pair when its later row arrives")
    for keeps, side in ((join.how.keeps_left, left), (join.how.keeps_right, right)):
        if keeps:
            after = f"has passed {moved(side.time, side.shift)}"
            if isinstance(join, WindowJoin):
                after = f"has reached {side.end}"
            told.append(f"a row of {side.name} without a partner once the watermark {after}")
    return tuple(told)


def needed_retention(join: BoundedJoin) -> int:
    """The longest that a row of either side can have to wait for a partner."""
    return max(join.bounds.upper, -join.bounds.lower, 0)
