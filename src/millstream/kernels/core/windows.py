"""Which windows of fixed size a row belongs to.

Sliding windows share panes: a pane is as long as the slide, and a row is folded into its pane once.
The window that ends at e is made of the panes that end at e, e - slide, …; a row of state goes by
the last microsecond of its pane or window, so that "older than the watermark" means "has ended".

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


def step_of(window: Window) -> int:
    """The length of a pane."""
    return window.slide if window.kind is WindowKind.SLIDING else window.size


def reach_of(spec: AggregateSpec) -> int:
    """How much later than a pane's end its last window ends."""
    window = spec.window
    if window is None or window.kind is not WindowKind.SLIDING:
        return 0
    return window.size - window.slide


def pane_time(spec: AggregateSpec) -> pl.Expr:
    """The last microsecond of the pane that a row belongs to; without windows, its own time."""
    window = spec.window
    if window is None:
        return pl.col(TIME)
    if window.kind is WindowKind.INHERITED:
        return pl.col(INHERITED_END).cast(pl.Int64) - 1
    length = step_of(window)
    past = (pl.col(TIME) - window.offset) % length  # never negative: as Python has it
    return pl.col(TIME) - past + (length - 1)


def last_window_time(spec: AggregateSpec) -> pl.Expr:
    """The last microsecond of the last window that a row belongs to."""
    return pane_time(spec) + reach_of(spec)


def some_window_ends(window: Window, since: int, after: int) -> bool:
    """Does a window end in (since, after]? Of given windows nothing is known."""
    if window.kind in {WindowKind.INHERITED, WindowKind.SESSION}:
        return after > since
    length = step_of(window)
    return (after - window.offset) // length > (since - window.offset) // length


def of_panes(
    panes: pl.DataFrame, window: Window, start: int, stop: int
) -> tuple[pl.DataFrame, pl.Series]:
    """Panes, each once for every window it is part of whose last microsecond is in [start, stop);
    and those microseconds."""
    slide, count = window.slide, window.size // window.slide
    times = panes[TIME].to_numpy()
    low = np.maximum(0, -((times - start) // slide))  # the first window that ends late enough
    high = np.minimum(count, -((times - stop) // slide))
    sizes = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(times)), sizes)
    ends = np.cumsum(sizes)
    number = np.arange(len(rows)) - np.repeat(ends - sizes, sizes) + low[rows]
    return panes[pl.Series(rows.astype(np.uint32))], pl.Series(TIME, times[rows] + number * slide)
