"""Separation of late rows from rows that are in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import LATENESS, TIME
from millstream.temporal import LateAction, LatePolicy


class LateSplit(NamedTuple):
    """Rows in time, late rows with all their columns and their lateness, and the number of
    reassigned rows."""

    rows: pl.DataFrame
    late: pl.DataFrame | None  # with all they came with, and how late they are
    reassigned: int = 0


def split_late(frame: pl.DataFrame, before: int, policy: LatePolicy) -> LateSplit:
    """Separates rows older than the watermark `before`, or moves their event time to it, as
    `policy` says."""
    times = frame[TIME].to_numpy()
    if not frame.height or int(times.min()) >= before:
        return LateSplit(frame, None)
    reassigned = 0
    if policy.action is LateAction.REASSIGN:
        reassigned_rows = (times < before) & (before - times <= policy.budget)
        reassigned = int(np.count_nonzero(reassigned_rows))
        times = np.where(reassigned_rows, before, times)
        frame = frame.with_columns(pl.Series(TIME, times))
    behind = times < before
    if not behind.any():
        return LateSplit(frame, None, reassigned)
    late = frame.filter(behind).with_columns((before - pl.col(TIME)).alias(LATENESS))
    return LateSplit(frame.filter(~behind), late, reassigned)
