"""Describes the window join, an interval join by the end of the window.

The cross join shares most of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from millstream.plan.document import Description, Fact, fact
from millstream.plan.document.formats import lateness_fact, window_data
from millstream.plan.expressions import Expression, column
from millstream.plan.kinds import interval_join, stream_joins
from millstream.plan.kinds.base import (
    JoinWindows,
    OperatorFacts,
    StreamJoinKind,
    WindowTimes,
)
from millstream.plan.kinds.interval_join import SideFacts, Sides
from millstream.plan.kinds.operator_properties import WINDOW_JOIN
from millstream.plan.kinds.stream_names import results_delay, stream_name
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.kinds.window_pairs import (
    WindowPair,
    coalesce_sides,
    pair_windows,
    window_side_of,
)
from millstream.plan.nodes import WINDOW_TIME, CrossJoin, JoinKind, WindowJoin

Windowed = WindowJoin | CrossJoin
OneWindowed = TypeVar("OneWindowed", bound=Windowed)


def _pair(join: Windowed) -> WindowPair:
    return pair_windows(*join.windows, join.how, ("", ""), None)


def sides_of(join: Windowed) -> Sides:
    pair = _pair(join)
    return _side(join, pair, 0), _side(join, pair, 1)


def _side(join: Windowed, pair: WindowPair, number: int) -> SideFacts:
    side = (join.left, join.right)[number]
    assert side.time is not None, "both sides of a window join have an event time"
    window = join.windows[0]
    return SideFacts(
        name=stream_name(side),
        alias=side.alias,
        time=side.time,
        delay=side.delay,
        match_delay=pair.match_delay(number),
        retention=join.retention,
        window=pair.panes[number].size,
        last_window_delay=pair.last_window_delay[number],
        lateness=join.lateness,
        copies=window.size // window.slide if join.windows[0] == join.windows[1] else 1,
        results_delay=results_delay(join),
    )


def _describe(join: WindowJoin, facts: OperatorFacts) -> Description:
    return interval_join.describe_bounded_join(
        "Window", join, facts, sides_of(join), windows_facts(join)
    )


def windows_facts(join: Windowed) -> tuple[Fact, ...]:
    one, other = join.windows
    shown = str(one)
    if one != other:
        shown = f"{one} and {other}: a pair once if any of its windows overlap"
    windows = [window_data(window) for window in join.windows]
    return fact("windows", windows, "window", shown), lateness_fact(join.lateness)


def _native_limitation(join: WindowJoin) -> str:
    if join.salt > 1:
        return interval_join.SALT_LIMITATION
    return "Spark's stream-stream join expires rows by their own times, not when a window closes"


def _with_window_time(join: OneWindowed) -> tuple[OneWindowed, Expression]:
    """Returns the join with the window time among the columns it reads, and that time."""
    sides, times = [], []
    for side in (join.left, join.right):
        shown = WINDOW_TIME in side.used
        sides.append(side if shown else replace(side, used=(*side.used, WINDOW_TIME)))
        times.append(column(side.alias, WINDOW_TIME, "TIMESTAMP"))
    time = coalesce_sides((times[0], times[1]), join.how, window_side_of(join.windows, join.how))
    if join.how.left_only:
        return replace(join, left=sides[0]), time
    return replace(join, left=sides[0], right=sides[1]), time


def _window_times(join: Windowed, number: int) -> WindowTimes | None:
    if (join.left, join.right)[number].progress is None:
        return None
    pair = _pair(join)
    back = -(join.lateness + pair.last_window_delay[number])
    until = TimeBounds(back, back)
    return WindowTimes(until, until + TimeBounds(-(pair.panes[number].size - 1), 0))


KIND = StreamJoinKind[WindowJoin](
    name="window_join",
    state=lambda join: interval_join.state_facts(join, sides_of(join)),
    describe=_describe,
    label=interval_join.join_label,
    summary=lambda join: interval_join.join_summary(join, sides_of(join)),
    watermark_delay=lambda join, number: max(_pair(join).match_delay(number), 0),
    columnar_limitation=stream_joins.columnar_limitation,
    unsupported_part=lambda join: join.unsupported,
    native_limitation=_native_limitation,
    has_window_time=lambda _: True,
    with_window_time=_with_window_time,
    type=JoinKind.WINDOW,
    properties=lambda _: WINDOW_JOIN,
    matching=stream_joins.matching_of,
    salt=lambda join: join.salt,
    bound=interval_join.bound_text,
    time_bounds=interval_join.time_bounds_of,
    windows=lambda join: JoinWindows(*join.windows, join.lateness),
    window_times=_window_times,
)
