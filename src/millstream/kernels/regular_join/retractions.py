"""Search for the buffered rows to retract, by their whole content.

If few rows share a key, they are found by key. If a key has many rows, they are found by a hash of
their content, for which a segment gets a second index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import HASH
from millstream.kernels.core.key_index import Bools, Ints, KeyIndex
from millstream.kernels.core.ranking import places
from millstream.kernels.regular_join.classify import RetractedRows, content_hash
from millstream.kernels.regular_join.sides import MATCH_COUNT, Side
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.manifest import Segment, index_uid
from millstream.kernels.state.segment_log import SegmentLog
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

FEW_ROWS_OF_KEY = (
    1024  # rows that share a key: comparing them all is cheaper than an index of their content
)


class RowsToRetract(NamedTuple):
    """Rows of a segment to retract: their numbers, and the numbers of the equal rows in the
    input."""

    segment: Segment
    rows: Rows
    numbers: Ints
    of: Ints


def find(log: SegmentLog, side: Side, retracted: RetractedRows) -> list[RowsToRetract]:
    """Finds rows to retract. Among equal rows, picks the oldest; among those of one time, the ones
    with the fewest matches."""
    found = list(_equal(log, side, retracted.frame))
    if not found:
        return []
    chosen = _chosen(found, retracted.copies)
    ends = np.cumsum([part.of.size for part in found])
    cut = np.split(chosen, ends[:-1])
    parts = [_filter(part, flags) for part, flags in zip(found, cut, strict=True)]
    return [part for part in parts if part.of.size]


def _equal(log: SegmentLog, side: Side, frame: pl.DataFrame) -> Iterator[RowsToRetract]:
    content = side.content(frame.columns)
    to_find = frame[:, content]
    by_key = KeyIndex.of(to_find[HASH].to_numpy(), np.zeros(frame.height, np.int64))
    by_content: KeyIndex | None = None
    for segment, rows in log.overlapping(side.number, BEGIN_OF_TIME, END_OF_TIME):
        needles, hay = by_key, rows.index
        if _has_hot_key(by_key, hay):
            if by_content is None:
                by_content = KeyIndex.of(content_hash(to_find), by_key.times)
            needles, hay = by_content, _content_index(log, segment, rows, content)
        for of, numbers in needles.pairs(hay, BEGIN_OF_TIME, END_OF_TIME, skip=segment.skip):
            part = RowsToRetract(segment, rows, numbers, of)
            if segment.removed and rows.matched is not None:
                part = _filter(part, ~rows.matched[numbers])
            if part.of.size:
                part = _filter(part, _same(to_find, rows.frame, part))
            if part.of.size:
                yield part


def match_counts(rows: Rows, numbers: Ints) -> Ints:
    """Returns the stored match counts of rows; 0 if they are not stored."""
    if MATCH_COUNT not in rows.frame.columns:
        return np.zeros(numbers.size, np.int64)
    return rows.frame[MATCH_COUNT].to_numpy()[numbers]


def _chosen(found: list[RowsToRetract], copies: Ints) -> Bools:
    """Returns which of the equal rows to retract: at most as many as there are copies in the
    input."""
    of = np.concatenate([part.of for part in found])
    chosen = np.ones(of.size, np.bool_)
    too_many = np.flatnonzero((np.bincount(of, minlength=copies.size) > copies)[of])
    if not too_many.size:
        return chosen
    times = np.concatenate([part.rows.times[part.numbers] for part in found])[too_many]
    counts = np.concatenate([match_counts(part.rows, part.numbers) for part in found])[too_many]
    order = too_many[np.lexsort((counts, times, of[too_many]))]
    place = places(of[order], np.ones(order.size, np.bool_))
    chosen[order[place > copies[of[order]]]] = False
    return chosen


def _has_hot_key(needles: KeyIndex, hay: KeyIndex) -> bool:
    """Returns whether a search by key would compare many more rows than needed."""
    start = np.searchsorted(hay.keys, needles.keys)
    stop = np.searchsorted(hay.keys, needles.keys, side="right")
    return int((stop - start).sum()) > 4 * len(needles) + FEW_ROWS_OF_KEY


def _content_index(log: SegmentLog, segment: Segment, rows: Rows, content: list[str]) -> KeyIndex:
    found = cast("KeyIndex | None", cache.get_cached(index_uid(segment.uid)))
    if found is None:
        found = KeyIndex.of(content_hash(rows.frame[:, content]), rows.times)
        nbytes = found.bytes_a_row * len(found)
        cache.put_cached(log.manifest.owner, index_uid(segment.uid), found, nbytes)
    return found


def _same(to_find: pl.DataFrame, stored: pl.DataFrame, part: RowsToRetract) -> Bools:
    same = np.ones(part.of.size, np.bool_)
    own_rows, other_rows = take(to_find, part.of), take(stored[:, to_find.columns], part.numbers)
    for name in to_find.columns:
        same &= own_rows[name].eq_missing(other_rows[name]).to_numpy()
    return same


def _filter(part: RowsToRetract, keep: Bools) -> RowsToRetract:
    return part._replace(numbers=part.numbers[keep], of=part.of[keep])
