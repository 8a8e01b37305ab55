"""Prefiltering before the shuffle: drops rows of a chunk that cannot be among the first n.

Only if the input does not retract and no row can be late: a row with n better ones in its own chunk
is never emitted. If partitions expire by the time of their last row, that row is retained, too.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.accumulators.accumulator import ROWS
from millstream.kernels.core.frames import take
from millstream.kernels.core.grouping import group
from millstream.kernels.core.hashing import fill_null_hashes
from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.ranking import in_order, places
from millstream.kernels.core.specs import TopNSpec


def can_prefilter(spec: TopNSpec) -> bool:
    """Returns whether rows can be filtered before the shuffle."""
    return spec.due is None and not spec.over_changes


def prefilter(spec: TopNSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows that may be among the first n, with `_n`: how many input rows each
    represents."""
    codes, first = group(fill_null_hashes(frame), spec.partition)
    order = in_order(frame, codes, spec.order, spec.columns, spec.n)
    ranks = places(codes[order], np.ones(order.size, np.bool_))
    keep = np.zeros(frame.height, np.bool_)
    keep[order[ranks <= spec.n]] = True
    if spec.ttl is not None:
        keep[_last(codes, frame[TIME].to_numpy(), first.size)] = True
    retained = np.flatnonzero(keep)
    stands_for = np.ones(retained.size, np.int64)
    left_out = np.bincount(codes[~keep], minlength=first.size)
    partitions, bearers = np.unique(codes[retained], return_index=True)
    stands_for[bearers] += left_out[partitions]
    return take(frame, retained).with_columns(pl.Series(ROWS, stands_for))


def _last(codes: Ints, times: Ints, count: int) -> Ints:
    """Returns, for each partition, a row with the latest time."""
    latest = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(latest, codes, times)
    rows = np.flatnonzero(times == latest[codes])
    return rows[np.unique(codes[rows], return_index=True)[1]]
