"""Classification of the rows of an aggregate with windows: late rows, and partial results of the
others."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from millstream.kernels.accumulators.columns import ROWS
from millstream.kernels.aggregate.partial_results import fold, is_folded, merge_partials
from millstream.kernels.core.kernel import LATENESS, TIME
from millstream.kernels.core.specs import AggregateSpec
from millstream.kernels.core.windows import last_window_time, pane_time, window_reach
from millstream.temporal import LateAction

_LATE = "_late"


@dataclass(slots=True)
class ClassifiedRows:
    partials: pl.DataFrame | None = None  # one per group
    late_rows: pl.DataFrame | None = None  # with all columns, for a side output
    late: int = 0
    reassigned: int = 0


def classify(spec: AggregateSpec, frame: pl.DataFrame, before: int) -> ClassifiedRows:
    """Classifies rows. A row is late if all of its windows have closed."""
    if spec.early:
        if not is_folded(frame):
            frame = fold(spec, frame)
        elif spec.window is not None and spec.window.wall_clock:
            frame = frame.with_columns(pane_time(spec).alias(TIME))
        return _classify_folded(spec, frame, before)
    classified = ClassifiedRows()
    late = frame.select((last_window_time(spec) + spec.lateness < before).alias(_LATE))[_LATE]
    if late.any():
        frame = split_late_rows(spec, frame, late, before, classified)
    if frame.height:
        classified.partials = fold(spec, frame)
    return classified


def _classify_folded(spec: AggregateSpec, frame: pl.DataFrame, before: int) -> ClassifiedRows:
    classified = ClassifiedRows()
    if spec.window is not None:
        late = frame[TIME] + (window_reach(spec) + spec.lateness) < before
        if late.any():
            classified.late = int(frame.filter(late)[ROWS].sum())
            frame = frame.filter(~late)
    if frame.height:
        classified.partials = merge_partials(spec, frame)
    return classified


def split_late_rows(
    spec: AggregateSpec,
    frame: pl.DataFrame,
    late: pl.Series,
    before: int,
    classified: ClassifiedRows,
) -> pl.DataFrame:
    """Returns the rows in time, including late rows that are reassigned to the current watermark.

    A row that inherits its window cannot be reassigned to another one.
    """
    if spec.late.action is LateAction.REASSIGN and not spec.given:
        reassigned = late & (before - frame[TIME] <= spec.late.budget)
        classified.reassigned = int(reassigned.sum())
        time = pl.when(reassigned).then(before).otherwise(pl.col(TIME))
        frame = frame.with_columns(time.cast(pl.Int64).alias(TIME))
        late &= ~reassigned
    removed = frame.filter(late)
    classified.late = removed.height
    if removed.height and spec.late.action is LateAction.SIDE_OUTPUT:
        classified.late_rows = removed.with_columns((before - pl.col(TIME)).alias(LATENESS))
    return frame.filter(~late)
