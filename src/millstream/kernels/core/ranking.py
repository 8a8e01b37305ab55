"""Sorting of rows by partition and order, and their ranks.

The order columns are sorted once for all partitions, which assigns a number to each row; partition
and number are packed into one integer to sort by. Ties are broken only where they matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.key_index import Bools, Ints, time_order
from millstream.kernels.core.specs import OrderSpec


def in_order(
    frame: pl.DataFrame,
    codes: Ints,
    order: Sequence[OrderSpec],
    ties: Sequence[str],
    most: int,
    always: Bools | None = None,
) -> Ints:
    """Returns row numbers sorted by partition (`codes`), by `order`, then by the columns `ties`,
    ascending.

    Rows that cannot be among the first `most` may be omitted, except those for which `always` is
    true.
    """
    numbers = _numbers(frame, order)
    packed = codes * (int(numbers.max(initial=0)) + 1) + numbers
    rows = time_order(packed)
    if rows is None:
        rows = np.arange(frame.height)
    eligible = _eligible(packed[rows], codes[rows], most)
    rows = rows[eligible if always is None else eligible | always[rows]]
    placed = packed[rows]
    same = placed[1:] == placed[:-1]
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        decisive = take(frame[:, list(ties)], rows[tied]).with_columns(
            pl.Series("_packed", placed[tied])
        )
        by = ["_packed", *ties]
        decided = decisive.select(pl.arg_sort_by(by, nulls_last=True, maintain_order=True))
        rows[tied] = rows[tied[decided.to_series().to_numpy()]]
    return rows


def places(codes: Ints, counted: Bools) -> Ints:
    """Returns the place of each `counted` row in its partition, from 1, and 0 for the other rows.

    Rows must be sorted by partition.
    """
    upto = np.cumsum(counted)
    starts = partition_starts(codes)
    before: Ints = upto[starts] - counted[starts]
    sizes = np.diff(np.append(starts, codes.size))
    return np.where(counted, upto - np.repeat(before, sizes), 0)


def partition_starts(codes: Ints) -> Ints:
    """Returns the first row of each partition."""
    return np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: codes.size])


def _numbers(frame: pl.DataFrame, order: Sequence[OrderSpec]) -> Ints:
    """Returns a number for each row that is equal for equal rows and increases with the order."""
    numbers = np.zeros(frame.height, np.int64)
    if not order or not frame.height:
        return numbers
    names = [term.column for term in order]
    order_by = pl.arg_sort_by(
        names,
        descending=[term.descending for term in order],
        nulls_last=[not term.nulls_first for term in order],
    )
    rows = frame.select(order_by).to_series()
    changes = np.zeros(frame.height, np.bool_)
    for name in dict.fromkeys(names):
        column = frame[name].gather(rows)
        changes[1:] |= column[1:].ne_missing(column[:-1]).to_numpy()
    numbers[rows.to_numpy()] = np.cumsum(changes)
    return numbers


def _eligible(packed: Ints, codes: Ints, most: int) -> Bools:
    """Returns which rows are among the first `most` of their partition, or tied with the last of
    them."""
    starts = partition_starts(codes)
    sizes = np.diff(np.append(starts, codes.size))
    last = packed[starts + np.minimum(sizes, most) - 1]
    return np.asarray(packed <= np.repeat(last, sizes))
