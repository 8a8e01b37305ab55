"""Rows of a batch to partials, one for each key and pane, before or after the exchange.

A folded frame has `_h`, the keys, `_t` (the last microsecond of the pane; without windows the time
of the last row), `_ws` where windows are given, `_n`, `_w` if rows may be taken back, and partials.
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
    """Arguments whose distinct values lie apart from the groups: where a group stays as it is until
    its time has come, or for ever."""
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
    """What is equal in all rows of a group, beside the hash and the time."""
    return (*spec.keys, INHERITED_START) if spec.given else spec.keys


def normalize_keys(frame: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """-0.0 as a key is 0.0."""
    floats = [name for name in keys if frame.schema[name].is_float()]
    return frame.with_columns(normalize_zero(pl.col(name)) for name in floats) if floats else frame


def fold(spec: AggregateSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """For windows of fixed size, given windows and none. Sessions: see `session.fold`."""
    frame = normalize_keys(fill_null_hashes(frame), spec.keys)
    folding = accumulators(spec)
    groups = [HASH, *group_columns(spec)]
    if spec.window is None:
        return folding.fold(frame, groups, [pl.col(TIME).max()])
    folded = folding.fold(frame.with_columns(pane_time(spec).alias(PANE)), [*groups, PANE])
    return folded.rename({PANE: TIME})


def merge_partials(spec: AggregateSpec, folded: pl.DataFrame) -> pl.DataFrame:
    """Folded frames put one below the other, as one."""
    groups = [HASH, *group_columns(spec)]
    if spec.window is None:
        return accumulators(spec).merge(folded, groups, [pl.col(TIME).max()])
    return accumulators(spec).merge(folded, [*groups, TIME])


def is_folded(frame: pl.DataFrame) -> bool:
    return ROWS in frame.columns
