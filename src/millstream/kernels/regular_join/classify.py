"""What a batch brings to a side of a regular join: rows to add, rows to take back, late rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core.kernel import DELETE, HASH, LATENESS, OP, TIME, UPDATE_BEFORE
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join.classify import count_unmatched
from millstream.kernels.regular_join.sides import PARTNERS, Side
from millstream.kernels.state.keyed_table import group
from millstream.kernels.state.ranking import places
from millstream.kernels.state.sorted_rows import Rows, take
from millstream.temporal import LateAction

_KEY = "_key"


@dataclass(frozen=True, slots=True)
class Back:
    """Rows to take back, each once, and how many of its kind."""

    frame: pl.DataFrame
    copies: Ints


@dataclass(slots=True)
class Arrived:
    new: Rows | None = None  # may match; None if there are none, as below
    back: Back | None = None
    keyless: pl.DataFrame | None = None  # can match nothing
    keyless_back: pl.DataFrame | None = None
    late: pl.DataFrame | None = None
    accepted: int = 0
    missing_key: int = 0
    unmatched_predicate: int = 0
    reassigned: int = 0


def sort_out(side: Side, spec: RegularJoinSpec, frame: pl.DataFrame, before: int) -> Arrived:
    arrived = Arrived()
    if spec.ttl is not None:
        frame = _in_time(frame, before, before - spec.ttl, spec, arrived)
    keyless = frame[HASH].null_count()
    if keyless and not side.plain.preserved:
        arrived.unmatched_predicate = count_unmatched(frame)
        arrived.missing_key = keyless - arrived.unmatched_predicate
        frame = frame.filter(pl.col(HASH).is_not_null())
        keyless = 0
    arrived.accepted = frame.height
    frame, back = _netted(frame, side.columns(frame.columns))
    if keyless:
        none = frame[HASH].is_null()
        arrived.keyless, frame = frame.filter(none), frame.filter(~none)
    if keyless and back is not None:
        without = back.frame[HASH].is_null().to_numpy()
        rows = np.flatnonzero(without)
        arrived.keyless_back = take(back.frame, np.repeat(rows, back.copies[rows]))
        back = Back(back.frame.filter(~without), back.copies[~without])
    if frame.height:
        arrived.new = _new_rows(side, frame)
    if back is not None and back.frame.height:
        arrived.back = back
    return arrived


def _new_rows(side: Side, frame: pl.DataFrame) -> Rows:
    if side.counted:
        place = frame.width - 2  # before the fixed columns
        frame = frame.clone().insert_column(place, pl.lit(0, pl.Int64).alias(PARTNERS))
    marks = np.zeros(frame.height, np.bool_) if side.layout.marked else None
    return Rows.of(frame.rechunk(), marks)


def _in_time(
    frame: pl.DataFrame, before: int, oldest: int, spec: RegularJoinSpec, arrived: Arrived
) -> pl.DataFrame:
    """Late is what would no longer be held."""
    times = frame[TIME].to_numpy()
    if int(times.min()) >= oldest:
        return frame
    if spec.late.action is LateAction.REASSIGN:
        pardoned = (times < oldest) & (before - times <= spec.late.budget)
        arrived.reassigned = int(np.count_nonzero(pardoned))
        times = np.where(pardoned, before, times)
        frame = frame.with_columns(pl.Series(TIME, times))
    late = times < oldest
    if not late.any():
        return frame
    arrived.late = frame.filter(late).with_columns((before - pl.col(TIME)).alias(LATENESS))
    return frame.filter(~late)


def _netted(frame: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, Back | None]:
    """Rows to add and rows to take back: of equal ones only what is left over. If rows to add are
    left over, they are the newest."""
    if OP not in frame.columns:
        return frame[:, names], None
    ops = frame[OP].to_numpy()
    taken_back = (ops == UPDATE_BEFORE) | (ops == DELETE)
    frame = frame[:, names]
    if not taken_back.any():
        return frame, None
    codes, first = _equal(frame)
    count = np.bincount(codes[~taken_back], minlength=first.size)
    less = np.bincount(codes[taken_back], minlength=first.size)
    keep = ~taken_back & (less == 0)[codes]
    keep[_newest(frame, codes, count - less, ~taken_back & (less > 0)[codes])] = True
    going = np.flatnonzero(less > count)
    back = Back(take(frame, first[going]), (less - count)[going]) if going.size else None
    return take(frame, np.flatnonzero(keep)), back


def _equal(frame: pl.DataFrame) -> tuple[Ints, Ints]:
    """Of each row the number of its kind, whatever its time; of each kind a row."""
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
    """Equal for equal rows."""
    return content.hash_rows().to_numpy().view(np.int64)
