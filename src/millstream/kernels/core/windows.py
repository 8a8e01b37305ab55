"""Assignment of rows to windows of fixed size.

Sliding windows share panes. A pane is as long as the slide, and a row is folded into one pane. The
window that ends at e consists of the panes that end at e, e - slide, … The time of a row in state
is the last microsecond of its pane or window, so "older than the watermark" means "has ended".

    slide  ├────┤                        panes of one slide
    size   ├──────────────┤              a window of three panes
                ├──────────────┤
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.specs import INHERITED_END, AggregateSpec
from millstream.temporal import Window, WindowKind


def pane_length(window: Window) -> int:
    """Returns the length of a pane in microseconds."""
    return window.slide if window.kind is WindowKind.SLIDING else window.size


def window_reach(spec: AggregateSpec) -> int:
    """Returns the time from the end of a pane to the end of the last window that contains it."""
    window = spec.window
    if window is None or window.kind is not WindowKind.SLIDING:
        return 0
    return window.size - window.slide


def pane_time(spec: AggregateSpec) -> pl.Expr:
    """Returns the last microsecond of a row's pane; without windows, the row's own time."""
    window = spec.window
    if window is None:
        return pl.col(TIME)
    if window.kind is WindowKind.INHERITED:
        return pl.col(INHERITED_END).cast(pl.Int64) - 1
    length = pane_length(window)
    past = (pl.col(TIME) - window.offset) % length  # never negative, as in Python
    return pl.col(TIME) - past + (length - 1)


def last_window_time(spec: AggregateSpec) -> pl.Expr:
    """Returns the last microsecond of the last window that contains a row."""
    return pane_time(spec) + window_reach(spec)


def any_window_ends(window: Window, since: int, after: int) -> bool:
    """Returns whether a window may end in (since, after]. For inherited windows and sessions this
    is unknown."""
    if window.kind in {WindowKind.INHERITED, WindowKind.SESSION}:
        return after > since
    length = pane_length(window)
    return (after - window.offset) // length > (since - window.offset) // length


def assign_windows(
    panes: pl.DataFrame, window: Window, start: int, stop: int
) -> tuple[pl.DataFrame, pl.Series]:
    """Repeats each pane for every window that contains it and whose last microsecond is in [start,
    stop).

    Returns the panes and the last microseconds of their windows.
    """
    slide, count = window.slide, window.size // window.slide
    times = panes[TIME].to_numpy()
    # the first window that ends at `start` or later
    low = np.maximum(0, -((times - start) // slide))
    high = np.minimum(count, -((times - stop) // slide))
    sizes = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(times)), sizes)
    ends = np.cumsum(sizes)
    number = np.arange(len(rows)) - np.repeat(ends - sizes, sizes) + low[rows]
    return panes[pl.Series(rows.astype(np.uint32))], pl.Series(TIME, times[rows] + number * slide)
