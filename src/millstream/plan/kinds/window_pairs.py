"""The windows of both sides of a join, and the bound between the panes of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, template
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.reject import not_supported
from millstream.temporal import Bounds, Window, WindowKind
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class WindowPair:
    """The windows of both sides of a join.

    Attributes:
        panes: The windows that rows are assigned to: the query's windows, but slides in place of
            a sliding window that is joined with a tumbling one.
        bounds: The bound between the last moments of the panes of a pair.
        window_side: The side whose window the result has.
        last_window_delay: How long after a pane the last window of its rows ends.
    """

    windows: tuple[Window, Window]
    panes: tuple[Window, Window]
    bounds: Bounds
    window_side: int
    last_window_delay: tuple[int, int] = (0, 0)

    @property
    def are_equal(self) -> bool:
        return self.panes[0] == self.panes[1] and self.windows == self.panes

    def match_delay(self, number: int) -> int:
        """Returns how long after the last window of a row the other side's windows that overlap
        it may still be open."""
        if self.are_equal or self.windows[0] == self.windows[1]:
            return 0
        own, other = self.windows[number], self.windows[1 - number]
        # The least distance between this window's end and the start of a window of the other side.
        step = gcd(own.slide, other.slide)
        nearest = (own.offset + own.size - other.offset - 1) % step + 1
        return other.size - nearest

    def time_bounds(self, number: int) -> TimeBounds:
        """Returns how far the own time of a row of a side is after the result's window time."""
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
        raise not_supported("a join of processing-time windows", place)
    kinds = [window.kind for window in windows]
    chief = window_side_of(windows, how)
    if windows[0] == windows[1]:
        return WindowPair(windows, windows, Bounds(0, 0), chief)
    if kinds[0] is kinds[1]:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{names[0]} has {windows[0]}, {names[1]} has {windows[1]}: they share no window.",
            fix="Use the same window on both sides, or TUMBLING on one and SLIDING on the other.",
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
    """Returns a sliding window that slides by its size as a tumbling one."""
    if window.kind is WindowKind.SLIDING and window.size == window.slide:
        return Window(WindowKind.TUMBLING, window.size, window.size, window.offset)
    return window


def window_side_of(windows: tuple[Window, Window], how: JoinType) -> int:
    """Returns the side whose window the result of a join has.

    It is the side with the tumbling window, otherwise a preserved side.
    """
    if how.left_only:
        return 0
    if windows[0].kind is windows[1].kind:
        return 1 if how is JoinType.RIGHT else 0
    return 0 if windows[0].kind is WindowKind.TUMBLING else 1


def is_padded(how: JoinType, chief: int) -> bool:
    """Returns whether the side whose window the result has can be NULL in a result row."""
    return not how.left_only and (how.preserves_right if chief == 0 else how.preserves_left)


def coalesce_sides(sides: tuple[Expression, Expression], how: JoinType, chief: int) -> Expression:
    """Returns a window column of the result: of `window_side`, or of the other where it is NULL."""
    one, other = sides[chief], sides[1 - chief]
    if not is_padded(how, chief):
        return one
    return template("coalesce({}, {})", one, other, kind=one.type)
