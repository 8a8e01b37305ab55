"""Joins rows of a stream with the rows of a table that have the same key.

`TableMatches` has the matching table rows for a chunk of stream rows, by number, in the order of
the chunk. They come from a lookup or from a table in memory; the join is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.core.key_index import Ints, KeyIndex
from millstream.values import OR_NULL, Condition


@dataclass(frozen=True, slots=True)
class TableMatches:
    """Matches of a chunk. `left` are row numbers of the chunk, ascending, each repeated per output
    row; `right` is its row of `table`, or -1."""

    left: Ints
    right: Ints
    table: pa.Table

    @property
    def found(self) -> pa.Array:
        return pa.array(self.right >= 0)

    def columns(self, names: tuple[str, ...]) -> list[pa.ChunkedArray]:
        """Returns columns of the table, with NULL where there is no match."""
        taken = pa.array(self.right, mask=self.right < 0)
        return [self.table[name].take(taken) for name in names]


def matches_from_pairs(
    count: int, left: Ints, right: Ints, table: pa.Table, *, first: bool
) -> TableMatches:
    """Creates the matches of a chunk of `count` rows from pairs of rows.

    Every chunk row occurs at least once. With `first`, only the first match of a row is used.
    """
    order = np.argsort(left, kind="stable")
    left, right = left[order], right[order]
    if first and left.size:
        heads = np.concatenate(([True], left[1:] != left[:-1]))
        left, right = left[heads], right[heads]
    times = np.bincount(left, minlength=count)
    if bool((times == 1).all()):
        return TableMatches(left, right, table)
    each = np.maximum(times, 1)
    starts = np.cumsum(each) - each
    whole = np.full(int(each.sum()), -1, np.int64)
    within = np.arange(left.size) - (np.cumsum(times) - times)[left]
    whole[starts[left] + within] = right
    return TableMatches(np.repeat(np.arange(count), each), whole, table)


class IndexedTable:
    """A whole table in memory, with an index by its key columns."""

    def __init__(self, rows: pa.Table, keys: tuple[str, ...]) -> None:
        lookup_keys = [pl.Series(name, rows[name]) for name in keys]
        whole = np.flatnonzero(_present(lookup_keys))
        self.rows = rows
        self._numbers = whole
        self._keys = [column.gather(whole) for column in lookup_keys]
        self._index = _index(self._keys)

    @property
    def unique(self) -> bool:
        """Whether each key has at most one row."""
        if _is_hash(self._keys):
            return self._index.unique
        return bool(pl.DataFrame(self._keys).is_unique().all())

    def find(self, keys: list[pl.Series], *, first: bool) -> TableMatches:
        """Finds the rows with these keys; a NULL key matches nothing."""
        whole = np.flatnonzero(_present(keys))
        lookup_keys = [column.gather(whole) for column in keys]
        pairs = list(_index(lookup_keys).pairs(self._index, 0, 0))
        left = np.concatenate([pair[0] for pair in pairs]) if pairs else np.empty(0, np.int64)
        right = np.concatenate([pair[1] for pair in pairs]) if pairs else np.empty(0, np.int64)
        if not _is_hash(lookup_keys):
            same = np.ones(left.size, np.bool_)
            for own_rows, other_rows in zip(lookup_keys, self._keys, strict=True):
                same &= (own_rows.gather(left) == other_rows.gather(right)).to_numpy()
            left, right = left[same], right[same]
        count = len(keys[0])
        return matches_from_pairs(count, whole[left], self._numbers[right], self.rows, first=first)


def evaluate_condition(condition: Condition, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Evaluates a condition on values; NULL if it is unknown, which a filter treats as false."""
    match condition.op:
        case "null":
            return pc.is_null(column)
        case "not null":
            return pc.is_valid(column)
        case "in":
            return pc.is_in(column, pa.array(condition.values).cast(column.type))
        case _:
            value = pa.scalar(condition.values[0])
            if pa.types.is_date(column.type):
                value = value.cast(column.type)
            compared = _COMPARED[condition.op.removeprefix(OR_NULL)](column, value)
            return pc.fill_null(compared, True) if condition.op.startswith(OR_NULL) else compared


_COMPARED = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _present(columns: list[pl.Series]) -> np.ndarray:
    present = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        if column.null_count():
            present &= column.is_not_null().to_numpy()
    return present


def _is_hash(keys: list[pl.Series]) -> bool:
    return len(keys) == 1 and keys[0].dtype.is_integer()


def _index(keys: list[pl.Series]) -> KeyIndex:
    if _is_hash(keys):
        hashes = keys[0].cast(pl.Int64).to_numpy()
    else:
        hashes = pl.DataFrame(keys).hash_rows().to_numpy().view(np.int64)
    return KeyIndex.of(hashes, np.zeros(len(hashes), np.int64))
