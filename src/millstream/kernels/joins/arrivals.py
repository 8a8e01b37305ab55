"""What a batch brings to a side of a join: late rows, rows that can match nothing, the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.base import HASH
from millstream.kernels.state.rows import Rows
from millstream.kernels.state.table import judge
from millstream.temporal import LatePolicy


@dataclass(frozen=True, slots=True)
class Arrivals:
    rows: Rows | None  # that may match; None if there are none
    unmatchable: pl.DataFrame | None
    late: pl.DataFrame | None
    reassigned: int = 0


NOTHING = Arrivals(None, None, None)


def sort_out(
    frame: pl.DataFrame | None, before: int, policy: LatePolicy, columns: list[str], marked: bool
) -> Arrivals:
    """Only `columns` of rows in time are kept; late rows keep all they came with."""
    if frame is None or not frame.height:
        return NOTHING
    judged = judge(frame, before, policy)
    frame = judged.rows[:, columns]
    unmatchable = None
    if frame[HASH].null_count():
        unmatchable = frame.filter(pl.col(HASH).is_null())
        frame = frame.filter(pl.col(HASH).is_not_null())
    rows = None
    if frame.height:
        rows = Rows.of(frame.rechunk(), np.zeros(frame.height, np.bool_) if marked else None)
    return Arrivals(rows, unmatchable, judged.late, judged.reassigned)
