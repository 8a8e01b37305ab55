"""The windows of both sides of a join, and the bound between the panes that rows stand for."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, template
from millstream.plan.kinds.open_bounds import TimeBounds
from millstream.plan.reject import not_supported
from millstream.temporal import Bounds, Window, WindowKind
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class WindowPair:
    """`panes` are the windows that rows are given: those asked for but, beside a tumbling window,
    of a sliding one its slides. `later` is how long after the pane the last window of its rows
    ends. `bounds` are between the last moments of these. `chief` is the side whose window the
    result has."""

    windows: tuple[Window, Window]
    panes: tuple[Window, Window]
    bounds: Bounds
    window_side: int
    last_window_delay: tuple[int, int] = (0, 0)

    @property
    def are_equal(self) -> bool:
        return self.panes[0] == self.panes[1] and self.windows == self.panes

    def match_delay(self, number: int) -> int:
        """How long after the last window of a row of one side the windows of the other side that
        overlap it may still be open."""
        if self.are_equal or self.windows[0] == self.windows[1]:
            return 0
        own, other = self.windows[number], self.windows[1 - number]
        # The least distance between this window's end and the start of a window of the other side.
        step = gcd(own.slide, other.slide)
        nearest = (own.offset + own.size - other.offset - 1) % step + 1
        return other.size - nearest

    def time_bounds(self, number: int) -> TimeBounds:
        """How far the own time of a row of one side is after the time of the result's window."""
        inside = TimeBounds(-(self.panes[number].size - 1), 0)
        if number == self.window_side:
            return inside
        back = (
            self.last_window_delay[0] - self.last_window_delay[1]
        )  # from the last windows to the panes
        between = TimeBounds(self.bounds.lower + back, self.bounds.upper + back)
        return inside | ((between if number == 1 else -between) + inside)


def pair_windows(
    one: Window, other: Window, how: JoinType, names: tuple[str, str], place: Place | None
) -> WindowPair:
    windows = _normalise(one), _normalise(other)
    if any(window.wall_clock for window in windows):
        raise not_supported("a join of windows of the clock", place)
    kinds = [window.kind for window in windows]
    chief = window_side_of(windows, how)
    if windows[0] == windows[1]:
        return WindowPair(windows, windows, Bounds(0, 0), chief)
    if kinds[0] is kinds[1]:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{names[0]} is in {windows[0]}, {names[1]} in {windows[1]}: no window is in both.",
            fix="Give both the same window; TUMBLING on one side and SLIDING on the other is the "
            "other way.",
            place=place,
        )
    by_kind = {window.kind: window for window in windows}
    tumbling, sliding = by_kind[WindowKind.TUMBLING], by_kind[WindowKind.SLIDING]
    size, slide = sliding.size, sliding.slide
    pane = Window(WindowKind.TUMBLING, slide, slide, sliding.offset)
    lower, upper, later = 1 - tumbling.size, 2 * size - slide - 1, size - slide
    if windows[0] is tumbling:
        return WindowPair(windows, (tumbling, pane), Bounds(lower, upper), chief, (0, later))
    return WindowPair(windows, (pane, tumbling), Bounds(-upper, -lower), chief, (later, 0))


def _normalise(window: Window) -> Window:
    """A sliding window that slides by its size is a tumbling one."""
    if window.kind is WindowKind.SLIDING and window.size == window.slide:
        return Window(WindowKind.TUMBLING, window.size, window.size, window.offset)
    return window


def window_side_of(windows: tuple[Window, Window], how: JoinType) -> int:
    """The side whose window the result of a join has: the tumbling one, else one that no row
    lacks."""
    if how.left_only:
        return 0
    if windows[0].kind is windows[1].kind:
        return 1 if how is JoinType.RIGHT else 0
    return 0 if windows[0].kind is WindowKind.TUMBLING else 1


def is_padded(how: JoinType, chief: int) -> bool:
    """May a row of the result lack the side whose window counts?"""
    return not how.left_only and (how.preserves_right if chief == 0 else how.preserves_left)


def coalesce_sides(sides: tuple[Expression, Expression], how: JoinType, chief: int) -> Expression:
    """A window's column: that of the side whose window counts or, in a row that lacks it, of the
    other."""
    one, other = sides[chief], sides[1 - chief]
    if not is_padded(how, chief):
        return one
    return template("coalesce({}, {})", one, other, kind=one.type)
