"""Grouping of rows by equal keys. Hashes find groups; key columns decide where hashes collide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import HASH
from millstream.kernels.core.key_index import Ints, KeyIndex


def index_by_key(frame: pl.DataFrame, keys: Sequence[str], times: Ints) -> KeyIndex:
    """Indexes rows by key: unlike `KeyIndex.of`, rows with different keys and equal hashes get
    separate runs.

    Rows with the same key keep their order.
    """
    names = list(keys)
    index = KeyIndex.of(frame[HASH].to_numpy(), times)
    if index.unique or not names:
        return index
    again = np.ones(len(index), np.bool_)
    again[index.run_starts] = False
    places = np.flatnonzero(again)
    content = frame[:, names]
    one, two = take(content, index.order[places - 1]), take(content, index.order[places])
    if all(one[name].eq_missing(two[name]).all() for name in names):
        return index
    numbered = content.with_row_index("_n")
    numbers = numbered.select(pl.col("_n").first().over(names).cast(pl.Int64))["_n"]
    return KeyIndex.of(numbers.to_numpy(), times)


class Groups(NamedTuple):
    """The group number of each row, from 0, and the first row of each group."""

    codes: Ints
    first: Ints


def group(frame: pl.DataFrame, keys: Sequence[str]) -> Groups:
    """Groups rows by key."""
    index = index_by_key(frame, keys, np.zeros(frame.height, np.int64))
    starts = np.zeros(len(index), np.int64)
    starts[index.run_starts[1:]] = 1
    codes = np.empty(len(index), np.int64)
    codes[index.order] = np.cumsum(starts)
    return Groups(codes, index.order[index.run_starts])
