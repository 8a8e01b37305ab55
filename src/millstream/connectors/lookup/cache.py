"""What a worker remembers of a table, within a strict limit and for a time.

The limit counts rows, and one for a key that is known to be absent. Entries older than the time to
live are not used. When the limit is reached, what has expired goes first; if that is not enough,
the least recently used go, by the call that used them: an eighth of the limit at once, so that a
full cache is not sorted through for every new key.

Entries lie in pieces, the newest last, and small pieces are merged as in a log-structured tree: a
few new keys do not cost as much as all that are held.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from millstream.connectors.lookup.entries import (
    Bools,
    Entries,
    Ints,
    entries_of,
    hashes_of,
    merged,
)


@dataclass(slots=True)
class Known:
    """What the cache could say of a set of keys."""

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
        """How much of the limit is taken."""
        return sum(int(piece.weights.sum()) for piece in self._pieces)

    def find(self, keys: pl.DataFrame, now: float) -> Known:
        known = Known(missing=np.arange(keys.height))
        if not self._pieces or keys.is_empty():
            return known
        self._call += 1
        hashes, stale = hashes_of(keys), np.zeros(keys.height, np.bool_)
        for piece in reversed(self._pieces):
            left = known.missing
            places = piece.places(keys[left] if len(left) < keys.height else keys, hashes[left])
            here = places >= 0
            fresh = here.copy()
            fresh[here] = now - piece.asked_at[places[here]] < self._ttl
            used = places[fresh]
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

    def put(self, keys: pl.DataFrame, rows: pl.DataFrame, asked_at: float, now: float) -> int:
        """Remembers keys with their rows; how many others had to go for it."""
        if not self._limit or keys.is_empty():
            return 0
        new = entries_of(keys, rows, asked_at, self._call)
        if int(new.weights.sum()) > self._limit:
            new = new.only(np.flatnonzero(new.weights <= self._limit))
            new = new.only(np.flatnonzero(np.cumsum(new.weights) <= self._limit))
        gone = self._make_room(int(new.weights.sum()), now)
        self._pieces.append(new)
        while len(self._pieces) > 1 and 2 * len(self._pieces[-1]) >= len(self._pieces[-2]):
            self._pieces[-2:] = [merged(self._pieces[-2:])]
        return gone

    def _make_room(self, needed: int, now: float) -> int:
        if self.weight + needed <= self._limit:
            return 0
        held = merged(self._pieces)
        fresh: Bools = now - held.asked_at < self._ttl
        held = held.only(np.flatnonzero(fresh))
        before = len(held)
        room = self._limit - needed
        if int(held.weights.sum()) > room:
            room = min(room, self._limit - self._limit // 8)
            latest_first = np.argsort(-held.used, kind="stable")
            kept = latest_first[np.cumsum(held.weights[latest_first]) <= room]
            held = held.only(np.sort(kept))
        self._pieces = [held] if len(held) else []
        return before - len(held)
