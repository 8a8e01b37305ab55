"""Keeps the last change of each key of a batch: a log of upserts needs no other.

A key that changes from one value to another has a deleted row and a new one. Written one after the
other, consumers of the topic would find the key deleted in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.connectors.sink import ORDER_KEY

_FEW = 100_000  # rows that are buffered without looking for earlier changes of their keys


@dataclass(slots=True)
class LastChanges:
    """Rows of one task, in their order. Memory is that of the rows of about twice the keys."""

    _batches: list[pa.RecordBatch] = field(default_factory=list)
    _rows: int = 0
    _limit: int = _FEW

    def add(self, rows: pa.RecordBatch) -> None:
        self._batches.append(rows)
        self._rows += rows.num_rows
        if self._rows > self._limit:
            self._batches = list(_last_of_keys(self._batches))
            self._rows = sum(each.num_rows for each in self._batches)
            self._limit = max(_FEW, 2 * self._rows)

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yields the last row of each key, in the order of rows, and drops them."""
        batches, self._batches, self._rows = self._batches, [], 0
        yield from _last_of_keys(batches)


def _last_of_keys(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if not batches:
        return
    keys = pa.chunked_array([each.column(ORDER_KEY) for each in batches])
    numbers = keys.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    places = np.full(int(numbers.max(initial=-1)) + 1, -1)
    np.maximum.at(places, numbers, np.arange(numbers.size))
    is_last = np.zeros(numbers.size, np.bool_)
    is_last[places] = True
    first = 0
    for each in batches:
        taken = each.filter(pa.array(is_last[first : first + each.num_rows]))
        first += each.num_rows
        if taken.num_rows:
            yield taken
