"""Keys that are remembered with their rows, as columns: a piece of the cache.

Keys lie in the order of their hashes, so that a set of keys is found by one sorted search. Rows of
a key lie beside each other; a key without rows is remembered as not there. Of two keys with one
hash (there are some in billions) a piece holds one; the other is asked for again.
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
    hashes: Hashes  # sorted, each once
    keys: pl.DataFrame
    asked_at: Floats
    used: Ints  # the call that last used it; changed in place
    starts: Ints  # of a key's rows
    counts: Ints
    rows: pl.DataFrame  # with a number of their key, which was its in the call that asked for it

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def weights(self) -> Ints:
        """What a key takes of the cache's limit: its rows, or one if it has none."""
        return np.maximum(self.counts, 1)

    def places(self, keys: pl.DataFrame, hashes: Hashes) -> Ints:
        """Where each key lies; -1 if it is not here."""
        if not len(self):
            return np.full(len(hashes), -1, np.int64)
        near = np.minimum(np.searchsorted(self.hashes, hashes), len(self) - 1)
        found = self.hashes[near] == hashes
        if found.any():
            asked, held = keys, self.keys[near]
            same = [asked[name].eq_missing(held[name]) for name in keys.columns]
            for each in same:
                found &= each.to_numpy()
        return np.where(found, near, -1)

    def rows_of(self, places: Ints, numbers: Ints) -> pl.DataFrame:
        """The rows of keys, each with the number that its key goes by."""
        counts = self.counts[places]
        found = self.rows[run_members(self.starts[places], counts)]
        number = pl.Series(NUMBER, np.repeat(numbers, counts).astype(np.uint32))
        return found.with_columns(number)

    def only(self, chosen: Ints) -> Entries:
        """The entries at these places, in their order."""
        starts, counts = self.starts[chosen], self.counts[chosen]
        return Entries(
            self.hashes[chosen],
            self.keys[chosen],
            self.asked_at[chosen],
            self.used[chosen],
            run_starts(counts),
            counts,
            self.rows[run_members(starts, counts)],
        )


def entries_of(keys: pl.DataFrame, rows: pl.DataFrame, asked_at: float, used: int) -> Entries:
    """Of keys and of rows that tell the number of their key."""
    hashes = hashes_of(keys)
    numbers = rows[NUMBER].to_numpy().astype(np.int64)
    by_key = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers, minlength=keys.height).astype(np.int64)
    unsorted = Entries(
        hashes,
        keys,
        np.full(keys.height, asked_at),
        np.full(keys.height, used, np.int64),
        run_starts(counts),
        counts,
        rows[by_key],
    )
    return unsorted.only(np.unique(hashes, return_index=True)[1])


def merged(pieces: Sequence[Entries]) -> Entries:
    """One piece of several; of two entries with one hash, that of the later piece."""
    newest_first = pieces[::-1]
    offsets = np.cumsum([0, *(piece.rows.height for piece in newest_first[:-1])])
    together = Entries(
        np.concatenate([piece.hashes for piece in newest_first]),
        pl.concat([piece.keys for piece in newest_first], rechunk=True),
        np.concatenate([piece.asked_at for piece in newest_first]),
        np.concatenate([piece.used for piece in newest_first]),
        np.concatenate(
            [piece.starts + at for piece, at in zip(newest_first, offsets, strict=True)]
        ),
        np.concatenate([piece.counts for piece in newest_first]),
        pl.concat([piece.rows for piece in newest_first], rechunk=True),
    )
    return together.only(np.unique(together.hashes, return_index=True)[1])


def hashes_of(keys: pl.DataFrame) -> Hashes:
    return keys.hash_rows().to_numpy()


def run_starts(counts: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))[: len(counts)]


def run_members(starts: Ints, counts: Ints) -> Ints:
    """starts[0], starts[0] + 1, … up to counts[0] of them, then those of starts[1], …"""
    shifts = np.repeat(starts - run_starts(counts), counts)
    members: Ints = shifts + np.arange(len(shifts))
    return members
