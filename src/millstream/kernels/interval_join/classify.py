"""Classification of new rows of a join input: late, unmatchable, or candidates for matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import HASH, PREDICATE
from millstream.kernels.core.late_rows import split_late
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import LatePolicy


@dataclass(frozen=True, slots=True)
class ClassifiedRows:
    """The rows of one input in one step."""

    rows: Rows | None  # that may match
    unmatchable: pl.DataFrame | None
    late: pl.DataFrame | None
    reassigned: int = 0
    failed_predicate: int = 0  # of `unmatchable`


NO_ROWS = ClassifiedRows(None, None, None)


def classify(
    frame: pl.DataFrame | None,
    before: int,
    policy: LatePolicy,
    columns: list[str],
    has_match_flags: bool,
) -> ClassifiedRows:
    """Classifies rows. Only `columns` of rows in time are retained; late rows keep all their
    columns."""
    if frame is None or not frame.height:
        return NO_ROWS
    late_split = split_late(frame, before, policy)
    frame = late_split.rows[:, columns]
    unmatchable, unmatched = None, 0
    if frame[HASH].null_count():
        unmatched = count_failed_predicate(late_split.rows)
        unmatchable = frame.filter(pl.col(HASH).is_null())
        frame = frame.filter(pl.col(HASH).is_not_null())
    rows = None
    if frame.height:
        rows = Rows.of(
            frame.rechunk(), np.zeros(frame.height, np.bool_) if has_match_flags else None
        )
    return ClassifiedRows(rows, unmatchable, late_split.late, late_split.reassigned, unmatched)


def count_failed_predicate(frame: pl.DataFrame) -> int:
    """Returns how many rows have no hash because the ON predicate over their own columns is not
    true."""
    if PREDICATE not in frame.columns:
        return 0
    return frame.filter(pl.col(HASH).is_null() & ~pl.col(PREDICATE)).height
