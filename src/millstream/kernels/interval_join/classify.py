"""What a batch brings to a side of a join: late rows, rows that can match nothing, the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import HASH, PREDICATE
from millstream.kernels.state.keyed_table import judge
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import LatePolicy


@dataclass(frozen=True, slots=True)
class Arrivals:
    rows: Rows | None  # that may match; None if there are none
    unmatchable: pl.DataFrame | None
    late: pl.DataFrame | None
    reassigned: int = 0
    unmatched_predicate: int = 0  # of `unmatchable`


NOTHING = Arrivals(None, None, None)


def sort_out(
    frame: pl.DataFrame | None, before: int, policy: LatePolicy, columns: list[str], marked: bool
) -> Arrivals:
    """Only `columns` of rows in time are kept; late rows keep all they came with."""
    if frame is None or not frame.height:
        return NOTHING
    judged = judge(frame, before, policy)
    frame = judged.rows[:, columns]
    unmatchable, unmatched = None, 0
    if frame[HASH].null_count():
        unmatched = count_unmatched(judged.rows)
        unmatchable = frame.filter(pl.col(HASH).is_null())
        frame = frame.filter(pl.col(HASH).is_not_null())
    rows = None
    if frame.height:
        rows = Rows.of(frame.rechunk(), np.zeros(frame.height, np.bool_) if marked else None)
    return Arrivals(rows, unmatchable, judged.late, judged.reassigned, unmatched)


def count_unmatched(frame: pl.DataFrame) -> int:
    """How many rows have no hash because their side's ON predicate is not true."""
    if PREDICATE not in frame.columns:
        return 0
    return frame.filter(pl.col(HASH).is_null() & ~pl.col(PREDICATE)).height
