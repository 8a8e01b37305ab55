"""A piece of the lookup cache: keys and their rows, as columns.

Keys are sorted by their hashes, so that a set of keys is found by one sorted search. The rows of a
key are adjacent; a key without rows is known to be absent. Of two keys with the same hash (some in
billions) a piece contains one; the other is looked up again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

NUMBER, REASON = "_ms_key", "_ms_reason"


@dataclass(slots=True)
class Entries:
    hashes: Hashes  # sorted, without duplicates
    keys: pl.DataFrame
    fetched_at: Floats
    used: Ints  # the call that last used the key; changed in place
    starts: Ints  # position of the key's first row
    counts: Ints  # rows of the key
    rows: pl.DataFrame  # the column NUMBER is only valid in the call that fetched them

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def weights(self) -> Ints:
        """The part of the cache's limit that each key uses: its rows, or one if it has none."""
        return np.maximum(self.counts, 1)

    def positions(self, keys: pl.DataFrame, hashes: Hashes) -> Ints:
        """Returns the position of each key; -1 if the piece does not contain it."""
        if not len(self):
            return np.full(len(hashes), -1, np.int64)
        near = np.minimum(np.searchsorted(self.hashes, hashes), len(self) - 1)
        found = self.hashes[near] == hashes
        if found.any():
            requested, stored = keys, self.keys[near]
            same = [requested[name].eq_missing(stored[name]) for name in keys.columns]
            for each in same:
                found &= each.to_numpy()
        return np.where(found, near, -1)

    def rows_of(self, positions: Ints, numbers: Ints) -> pl.DataFrame:
        """Returns the rows of the keys at these positions, with the number of their key."""
        counts = self.counts[positions]
        found = self.rows[run_members(self.starts[positions], counts)]
        number = pl.Series(NUMBER, np.repeat(numbers, counts).astype(np.uint32))
        return found.with_columns(number)

    def only(self, chosen: Ints) -> Entries:
        """Returns the entries at these positions, in this order."""
        starts, counts = self.starts[chosen], self.counts[chosen]
        return Entries(
            self.hashes[chosen],
            self.keys[chosen],
            self.fetched_at[chosen],
            self.used[chosen],
            run_starts(counts),
            counts,
            self.rows[run_members(starts, counts)],
        )


def build_entries(keys: pl.DataFrame, rows: pl.DataFrame, fetched_at: float, used: int) -> Entries:
    """Builds a piece from keys and their rows, whose column NUMBER is the position of the key."""
    hashes = hash_keys(keys)
    numbers = rows[NUMBER].to_numpy().astype(np.int64)
    by_key = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers, minlength=keys.height).astype(np.int64)
    unsorted = Entries(
        hashes,
        keys,
        np.full(keys.height, fetched_at),
        np.full(keys.height, used, np.int64),
        run_starts(counts),
        counts,
        rows[by_key],
    )
    return unsorted.only(np.unique(hashes, return_index=True)[1])


def merge_entries(pieces: Sequence[Entries]) -> Entries:
    """Merges pieces; of two entries with the same hash, that of the later piece is retained."""
    newest_first = pieces[::-1]
    offsets = np.cumsum([0, *(piece.rows.height for piece in newest_first[:-1])])
    together = Entries(
        np.concatenate([piece.hashes for piece in newest_first]),
        pl.concat([piece.keys for piece in newest_first], rechunk=True),
        np.concatenate([piece.fetched_at for piece in newest_first]),
        np.concatenate([piece.used for piece in newest_first]),
        np.concatenate(
            [piece.starts + at for piece, at in zip(newest_first, offsets, strict=True)]
        ),
        np.concatenate([piece.counts for piece in newest_first]),
        pl.concat([piece.rows for piece in newest_first], rechunk=True),
    )
    return together.only(np.unique(together.hashes, return_index=True)[1])


def hash_keys(keys: pl.DataFrame) -> Hashes:
    return keys.hash_rows().to_numpy()


def run_starts(counts: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))[: len(counts)]


def run_members(starts: Ints, counts: Ints) -> Ints:
    """Returns `counts[0]` consecutive numbers from `starts[0]`, then those of `starts[1]`, …"""
    shifts = np.repeat(starts - run_starts(counts), counts)
    members: Ints = shifts + np.arange(len(shifts))
    return members
