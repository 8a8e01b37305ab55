"""What a batch brings to an aggregate with windows: late rows, and partials of the others."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from millstream.kernels.accumulators.columns import ROWS
from millstream.kernels.aggregate.partial_results import fold, is_folded, merged
from millstream.kernels.core.kernel import LATENESS, TIME
from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.core.windows import last_window_time, pane_time, reach_of
from millstream.temporal import LateAction

_LATE = "_late"


@dataclass(slots=True)
class Arrived:
    partials: pl.DataFrame | None = None  # one a group; None if there are none
    late_rows: pl.DataFrame | None = None  # as they came, where they are asked for
    late: int = 0
    reassigned: int = 0


def sort_out(spec: AggregateSpec, frame: pl.DataFrame, before: int) -> Arrived:
    """Late is what belongs only to windows that have closed."""
    if spec.early:
        if not is_folded(frame):
            frame = fold(spec, frame)
        elif spec.window is not None and spec.window.wall_clock:
            frame = frame.with_columns(pane_time(spec).alias(TIME))
        return _sort_out_folded(spec, frame, before)
    arrived = Arrived()
    late = frame.select((last_window_time(spec) + spec.lateness < before).alias(_LATE))[_LATE]
    if late.any():
        frame = set_late_apart(spec, frame, late, before, arrived)
    if frame.height:
        arrived.partials = fold(spec, frame)
    return arrived


def _sort_out_folded(spec: AggregateSpec, frame: pl.DataFrame, before: int) -> Arrived:
    arrived = Arrived()
    if spec.window is not None:
        late = frame[TIME] + (reach_of(spec) + spec.lateness) < before
        if late.any():
            arrived.late = int(frame.filter(late)[ROWS].sum())
            frame = frame.filter(~late)
    if frame.height:
        arrived.partials = merged(spec, frame)
    return arrived


def set_late_apart(
    spec: AggregateSpec, frame: pl.DataFrame, late: pl.Series, before: int, arrived: Arrived
) -> pl.DataFrame:
    """The rows in time, and late ones that are given a new time. A row that comes with its window
    cannot be put into another."""
    if spec.late.action is LateAction.REASSIGN and not spec.given:
        pardoned = late & (before - frame[TIME] <= spec.late.budget)
        arrived.reassigned = int(pardoned.sum())
        time = pl.when(pardoned).then(before).otherwise(pl.col(TIME))
        frame = frame.with_columns(time.cast(pl.Int64).alias(TIME))
        late &= ~pardoned
    gone = frame.filter(late)
    arrived.late = gone.height
    if gone.height and spec.late.action is LateAction.SIDE_OUTPUT:
        arrived.late_rows = gone.with_columns((before - pl.col(TIME)).alias(LATENESS))
    return frame.filter(~late)
