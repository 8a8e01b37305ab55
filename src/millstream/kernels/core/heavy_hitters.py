"""Heavy hitters: the most frequent keys of a stream, counted in bounded memory (Misra and Gries).

    rows of a chunk ──▶ counts by key ──▶ + stored counts ──▶ minus the (size + 1)th count ──

The summary has at most `size` keys. A count is never too high, and too low by at most `missed`; the
same holds for keys that are not in the summary, whose count is 0. Subtracting from one key's count
also subtracts from `size` others, so `missed` stays below rows / (size + 1), plus a quarter,
because keys of a large chunk that are certainly infrequent are skipped. Merging two summaries keeps
this bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from millstream.kernels.core.key_index import Ints

SIZE = 64
LARGE = 1 << 15  # rows; in larger chunks, only keys in heavy buckets are counted
_BUCKET_BITS = 12
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class HeavyHitter(NamedTuple):
    """A frequent key with a lower and an upper bound of its number of rows."""

    hash: int
    least: int
    most: int
    name: str | None = None


class HeavyHitters:
    """A mergeable summary of the most frequent keys."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.rows = 0
        self.missed = 0
        self._hashes: Ints = np.zeros(0, np.int64)  # in order
        self._counts: Ints = np.zeros(0, np.int64)
        self._names: dict[int, str] = {}

    def add(
        self,
        hashes: Ints,
        weights: Ints | None = None,
        name: Callable[[int], str] | None = None,
    ) -> None:
        """Counts rows by the hashes of their keys, which must not be NULL.

        `weights` are the numbers of rows that each row represents. `name` returns the text of a key
        by row number; it is called for keys that are new to the summary, at most `size` times per
        chunk.
        """
        if not hashes.size:
            return
        self.rows += hashes.size if weights is None else int(weights.sum())
        rows, missed = self._likely(hashes, weights)
        self.missed += missed
        found, counts = _counted(hashes[rows], None if weights is None else weights[rows])
        self._merge_counts(found, counts)
        if name is not None:
            self._name(hashes, rows, name)

    def merge(self, other: HeavyHitters) -> None:
        self.rows += other.rows
        self.missed += other.missed
        self._merge_counts(other._hashes, other._counts)
        names = {**other._names, **self._names}
        self._names = {key: names[key] for key in self._hashes.tolist() if key in names}

    def top(self, count: int) -> list[HeavyHitter]:
        """Returns the keys with the highest counts, the most frequent first."""
        order = np.lexsort((self._hashes, -self._counts))[:count]
        return [
            HeavyHitter(key, least, least + self.missed, self._names.get(key))
            for key, least in zip(
                self._hashes[order].tolist(), self._counts[order].tolist(), strict=True
            )
        ]

    # --- serialized form, part of an operator's statistics

    def as_data(self) -> dict[str, Any]:
        keys = [[key, count, self._names.get(key)] for key, count in self._items()]
        return {"size": self.size, "rows": self.rows, "missed": self.missed, "keys": keys}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> HeavyHitters:
        made = cls(data["size"])
        made.rows, made.missed = data["rows"], data["missed"]
        made._hashes = np.array([key for key, _, _ in data["keys"]], np.int64)
        made._counts = np.array([count for _, count, _ in data["keys"]], np.int64)
        made._names = {key: name for key, _, name in data["keys"] if name is not None}
        return made

    def _items(self) -> list[tuple[int, int]]:
        return list(zip(self._hashes.tolist(), self._counts.tolist(), strict=True))

    def _likely(self, hashes: Ints, weights: Ints | None) -> tuple[Ints | slice, int]:
        """Returns the rows to count, and an upper bound of the count of any key among the others.

        Hashes keys into buckets. A frequent key makes its bucket heavy, so rows in light buckets
        need not be sorted. For a chunk without heavy hitters, these are all rows.
        """
        if hashes.size <= LARGE:
            return slice(None), 0
        shift = np.uint64(64 - _BUCKET_BITS)
        buckets = ((hashes.view(np.uint64) * _SPREAD) >> shift).view(np.int64)
        weight = np.bincount(buckets, weights, 1 << _BUCKET_BITS).astype(np.int64)
        light = weight <= int(weight.sum()) // (4 * (self.size + 1))
        if not light.any():
            return slice(None), 0
        return np.flatnonzero(~light[buckets]), int(weight[light].max())

    def _merge_counts(self, hashes: Ints, counts: Ints) -> None:
        both = np.concatenate((self._hashes, hashes))
        found, total = _counted(both, np.concatenate((self._counts, counts)))
        if found.size > self.size:
            less = int(np.partition(total, found.size - self.size - 1)[found.size - self.size - 1])
            self.missed += less
            retained = total > less
            found, total = found[retained], total[retained] - less
        self._hashes, self._counts = found, total

    def _name(self, hashes: Ints, rows: Ints | slice, name: Callable[[int], str]) -> None:
        stored = self._hashes.tolist()
        self._names = {key: self._names[key] for key in stored if key in self._names}
        nameless = np.array([key for key in stored if key not in self._names], np.int64)
        if not nameless.size:
            return
        numbers = np.arange(hashes.size)[rows]
        there = numbers[np.isin(hashes[rows], nameless)]
        keys, first = np.unique(hashes[there], return_index=True)
        for key, number in zip(keys.tolist(), there[first].tolist(), strict=True):
            self._names[key] = name(number)


def _counted(hashes: Ints, weights: npt.NDArray[np.int64] | None) -> tuple[Ints, Ints]:
    """Returns each distinct hash, sorted, and its total weight."""
    if weights is None:
        found, counts = np.unique(hashes, return_counts=True)
        return found, counts
    found, of = np.unique(hashes, return_inverse=True)
    return found, np.bincount(of, weights, found.size).astype(np.int64)
