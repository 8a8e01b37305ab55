"""The lookup cache of a worker: bounded in size and age.

The limit counts rows; a key that is known to be absent counts as one row. Entries older than the
time to live are not used. When the limit is reached, expired entries are evicted first. If that is
not enough, the least recently used entries are evicted, an eighth of the limit at once, so that a
full cache is not sorted for every new key.

Entries are stored in pieces, the newest last. Small pieces are merged as in a log-structured merge
tree, so that the cost of adding a few keys does not depend on the size of the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from millstream.connectors.lookup.entries import (
    Bools,
    Entries,
    Ints,
    build_entries,
    hash_keys,
    merge_entries,
)


@dataclass(slots=True)
class CacheResult:
    """The cached rows of a set of keys, and the positions of the keys that are not cached."""

    rows: list[pl.DataFrame] = field(default_factory=list)
    missing: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    hits: int = 0
    negative_hits: int = 0
    expired: int = 0


class Cache:
    def __init__(self, limit: int, ttl: float) -> None:
        self._limit = limit if ttl > 0 else 0
        self._ttl = ttl
        self._pieces: list[Entries] = []
        self._call = 0

    @property
    def weight(self) -> int:
        """The part of the limit that is in use."""
        return sum(int(piece.weights.sum()) for piece in self._pieces)

    def find(self, keys: pl.DataFrame, now: float) -> CacheResult:
        known = CacheResult(missing=np.arange(keys.height))
        if not self._pieces or keys.is_empty():
            return known
        self._call += 1
        hashes, stale = hash_keys(keys), np.zeros(keys.height, np.bool_)
        for piece in reversed(self._pieces):
            left = known.missing
            positions = piece.positions(
                keys[left] if len(left) < keys.height else keys, hashes[left]
            )
            here = positions >= 0
            fresh = here.copy()
            fresh[here] = now - piece.fetched_at[positions[here]] < self._ttl
            used = positions[fresh]
            piece.used[used] = self._call
            absent = int((piece.counts[used] == 0).sum())
            known.negative_hits += absent
            known.hits += len(used) - absent
            known.rows.append(piece.rows_of(used, left[fresh]))
            stale[left[here & ~fresh]] = True
            known.missing = left[~fresh]
            if not len(known.missing):
                break
        known.expired = int(stale.sum())
        return known

    def put(self, keys: pl.DataFrame, rows: pl.DataFrame, fetched_at: float, now: float) -> int:
        """Adds keys with their rows; returns the number of evicted keys."""
        if not self._limit or keys.is_empty():
            return 0
        new = build_entries(keys, rows, fetched_at, self._call)
        if int(new.weights.sum()) > self._limit:
            new = new.only(np.flatnonzero(new.weights <= self._limit))
            new = new.only(np.flatnonzero(np.cumsum(new.weights) <= self._limit))
        gone = self._make_room(int(new.weights.sum()), now)
        self._pieces.append(new)
        while len(self._pieces) > 1 and 2 * len(self._pieces[-1]) >= len(self._pieces[-2]):
            self._pieces[-2:] = [merge_entries(self._pieces[-2:])]
        return gone

    def _make_room(self, needed: int, now: float) -> int:
        if self.weight + needed <= self._limit:
            return 0
        stored = merge_entries(self._pieces)
        fresh: Bools = now - stored.fetched_at < self._ttl
        stored = stored.only(np.flatnonzero(fresh))
        before = len(stored)
        room = self._limit - needed
        if int(stored.weights.sum()) > room:
            room = min(room, self._limit - self._limit // 8)
            latest_first = np.argsort(-stored.used, kind="stable")
            retained = latest_first[np.cumsum(stored.weights[latest_first]) <= room]
            stored = stored.only(np.sort(retained))
        self._pieces = [stored] if len(stored) else []
        return before - len(stored)
