"""Folding of rows into partial results, one per key and pane, before or after the shuffle.

A folded frame has `_h`, the keys, `_t` (the last microsecond of the pane; without windows the time
of the last row), `_ws` for inherited windows, `_n`, `_w` if the input retracts, and partial
results.
"""

from __future__ import annotations

import polars as pl

from millstream.kernels.accumulators.columns import ROWS, Accumulators
from millstream.kernels.accumulators.distinct_count import Argument, arguments_of
from millstream.kernels.core.hashing import fill_null_hashes, normalize_zero
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.specs import INHERITED_START, AggregateSpec
from millstream.kernels.core.windows import pane_time
from millstream.temporal import StateLimit, WindowKind

PANE = "_pane"


def distinct_table_arguments(spec: AggregateSpec) -> tuple[Argument, ...]:
    """Returns the arguments whose distinct values are stored in a table of their own.

    That pays off if a group stays unchanged until its window ends, or forever.
    """
    window = spec.window
    lasting = spec.ttl is None if window is None else window.kind in _FIXED
    if not lasting or spec.over_changes or spec.limit != StateLimit():
        return ()
    return arguments_of(spec.calls)


_FIXED = (WindowKind.TUMBLING, WindowKind.INHERITED)


def accumulators(spec: AggregateSpec) -> Accumulators:
    return Accumulators(
        spec.calls,
        weighted=spec.over_changes,
        ansi=spec.ansi,
        distinct_table_arguments=distinct_table_arguments(spec),
    )


def group_columns(spec: AggregateSpec) -> tuple[str, ...]:
    """Returns the columns that are equal in all rows of a group, besides hash and time."""
    return (*spec.keys, INHERITED_START) if spec.given else spec.keys


def normalize_keys(frame: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Replaces -0.0 with 0.0 in key columns."""
    floats = [name for name in keys if frame.schema[name].is_float()]
    return frame.with_columns(normalize_zero(pl.col(name)) for name in floats) if floats else frame


def fold(spec: AggregateSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Folds rows for windows of fixed size, inherited windows and no windows. For sessions see
    `session.fold`."""
    frame = normalize_keys(fill_null_hashes(frame), spec.keys)
    folding = accumulators(spec)
    groups = [HASH, *group_columns(spec)]
    if spec.window is None:
        return folding.fold(frame, groups, [pl.col(TIME).max()])
    folded = folding.fold(frame.with_columns(pane_time(spec).alias(PANE)), [*groups, PANE])
    return folded.rename({PANE: TIME})


def merge_partials(spec: AggregateSpec, folded: pl.DataFrame) -> pl.DataFrame:
    """Merges concatenated folded frames into one row per group."""
    groups = [HASH, *group_columns(spec)]
    if spec.window is None:
        return accumulators(spec).merge(folded, groups, [pl.col(TIME).max()])
    return accumulators(spec).merge(folded, [*groups, TIME])


def is_folded(frame: pl.DataFrame) -> bool:
    return ROWS in frame.columns
