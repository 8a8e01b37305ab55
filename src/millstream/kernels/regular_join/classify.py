"""Classification of the rows of a regular join's input: insertions, retractions and late rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.grouping import group
from millstream.kernels.core.kernel import DELETE, HASH, LATENESS, OP, TIME, UPDATE_BEFORE
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.ranking import places
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join.classify import count_failed_predicate
from millstream.kernels.regular_join.sides import MATCH_COUNT, Side
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import LateAction

_KEY = "_key"


@dataclass(frozen=True, slots=True)
class RetractedRows:
    """Distinct rows to retract, and the number of copies of each."""

    frame: pl.DataFrame
    copies: Ints


@dataclass(slots=True)
class ClassifiedRows:
    """The rows of one input in one step."""

    new: Rows | None = None  # rows with a key
    retracted: RetractedRows | None = None
    keyless: pl.DataFrame | None = None  # rows without a key, which can match nothing
    keyless_retracted: pl.DataFrame | None = None
    late: pl.DataFrame | None = None
    accepted: int = 0
    missing_key: int = 0
    failed_predicate: int = 0
    reassigned: int = 0


def classify(side: Side, spec: RegularJoinSpec, frame: pl.DataFrame, before: int) -> ClassifiedRows:
    """Classifies rows, and cancels out insertions and retractions of equal rows."""
    classified = ClassifiedRows()
    if spec.ttl is not None:
        frame = _remove_late(frame, before, before - spec.ttl, spec, classified)
    keyless = frame[HASH].null_count()
    if keyless and not side.base.preserved:
        classified.failed_predicate = count_failed_predicate(frame)
        classified.missing_key = keyless - classified.failed_predicate
        frame = frame.filter(pl.col(HASH).is_not_null())
        keyless = 0
    classified.accepted = frame.height
    frame, retracted = _net_rows(frame, side.columns(frame.columns))
    if keyless:
        none = frame[HASH].is_null()
        classified.keyless, frame = frame.filter(none), frame.filter(~none)
    if keyless and retracted is not None:
        without = retracted.frame[HASH].is_null().to_numpy()
        rows = np.flatnonzero(without)
        classified.keyless_retracted = take(
            retracted.frame, np.repeat(rows, retracted.copies[rows])
        )
        retracted = RetractedRows(retracted.frame.filter(~without), retracted.copies[~without])
    if frame.height:
        classified.new = _new_rows(side, frame)
    if retracted is not None and retracted.frame.height:
        classified.retracted = retracted
    return classified


def _new_rows(side: Side, frame: pl.DataFrame) -> Rows:
    if side.counted:
        place = frame.width - 2  # before the fixed columns
        frame = frame.clone().insert_column(place, pl.lit(0, pl.Int64).alias(MATCH_COUNT))
    flags = np.zeros(frame.height, np.bool_) if side.layout.has_match_flags else None
    return Rows.of(frame.rechunk(), flags)


def _remove_late(
    frame: pl.DataFrame, before: int, oldest: int, spec: RegularJoinSpec, classified: ClassifiedRows
) -> pl.DataFrame:
    """Removes late rows: those that would not be retained any more."""
    times = frame[TIME].to_numpy()
    if int(times.min()) >= oldest:
        return frame
    if spec.late.action is LateAction.REASSIGN:
        reassigned = (times < oldest) & (before - times <= spec.late.budget)
        classified.reassigned = int(np.count_nonzero(reassigned))
        times = np.where(reassigned, before, times)
        frame = frame.with_columns(pl.Series(TIME, times))
    late = times < oldest
    if not late.any():
        return frame
    classified.late = frame.filter(late).with_columns((before - pl.col(TIME)).alias(LATENESS))
    return frame.filter(~late)


def _net_rows(frame: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, RetractedRows | None]:
    """Cancels out insertions and retractions of equal rows; returns the remaining rows of each
    kind.

    Of several insertions, the newest remain.
    """
    if OP not in frame.columns:
        return frame[:, names], None
    ops = frame[OP].to_numpy()
    is_retraction = (ops == UPDATE_BEFORE) | (ops == DELETE)
    frame = frame[:, names]
    if not is_retraction.any():
        return frame, None
    codes, first = _equal(frame)
    count = np.bincount(codes[~is_retraction], minlength=first.size)
    retracted_count = np.bincount(codes[is_retraction], minlength=first.size)
    keep = ~is_retraction & (retracted_count == 0)[codes]
    keep[
        _newest(
            frame, codes, count - retracted_count, ~is_retraction & (retracted_count > 0)[codes]
        )
    ] = True
    to_retract = np.flatnonzero(retracted_count > count)
    retracted = (
        RetractedRows(take(frame, first[to_retract]), (retracted_count - count)[to_retract])
        if to_retract.size
        else None
    )
    return take(frame, np.flatnonzero(keep)), retracted


def _equal(frame: pl.DataFrame) -> tuple[Ints, Ints]:
    """Groups rows that are equal except for their time."""
    content = frame.drop(TIME)
    hashes = content_hash(content)
    named = content.rename({HASH: _KEY})
    codes, first = group(named.with_columns(pl.Series(HASH, hashes)), named.columns)
    return codes, first


def _newest(frame: pl.DataFrame, codes: Ints, left_over: Ints, among: Bools) -> Ints:
    rows = np.flatnonzero(among & (left_over > 0)[codes])
    if not rows.size:
        return rows
    times = frame[TIME].to_numpy()
    rows = rows[np.lexsort((-times[rows], codes[rows]))]
    place = places(codes[rows], np.ones(rows.size, np.bool_))
    return rows[place <= left_over[codes[rows]]]


def content_hash(content: pl.DataFrame) -> Ints:
    """Returns hashes that are equal for equal rows."""
    return content.hash_rows().to_numpy().view(np.int64)
