"""The cache of decoded state in this process, which shares a size limit with other workers' caches.

A cache miss reads the state store again, so the cache never affects results.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from cachetools import RRCache

from millstream.kernels.state.cache_sizes import CacheSizes

CACHE_SETTING = "MILLSTREAM_SEGMENT_CACHE_BYTES"
DEFAULT_BYTES = 4 << 30
UNUSED_SECONDS = 600.0  # until a key group that another worker processes is evicted


class _Entry(NamedTuple):
    nbytes: int
    owner: int
    value: Any


@dataclass(slots=True)
class _Owner:
    """The state of one key group. `used` is when this process last read its manifest."""

    used: float
    uids: set[int] = field(default_factory=set)


class SegmentCache:
    """Decoded state by uid. All processes in `sizes` share `budget`."""

    def __init__(
        self,
        budget: int,
        sizes: CacheSizes | None = None,
        advance: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = budget
        self._sizes = sizes
        self._clock = advance
        # Evicted at random. Steps read segments in turn, so the least recently used segment is
        # the next one needed: with LRU, slightly too much state would make every read a miss.
        self._entries: RRCache[int, _Entry] = RRCache(inf, getsizeof=lambda entry: entry.nbytes)
        self._owners: dict[int, _Owner] = {}

    @property
    def nbytes(self) -> int:
        return int(self._entries.currsize)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: int) -> bool:
        return uid in self._entries

    def retain(self, owner: int, live: Collection[int]) -> None:
        """Evicts entries of `owner` that are not in `live`, because another process may have
        dropped them; owners not used for UNUSED_SECONDS; and entries over the budget."""
        now = self._clock()
        found = self._owners.setdefault(owner, _Owner(now))
        found.used = now
        for uid in found.uids.difference(live):
            self.drop(uid)
        for other in [
            each for each, its in self._owners.items() if now - its.used > UNUSED_SECONDS
        ]:
            for uid in list(self._owners[other].uids):
                self.drop(uid)
            del self._owners[other]
        self._shrink()

    def put(self, owner: int, uid: int, value: Any, nbytes: int) -> None:
        self.drop(uid)
        if nbytes <= self.budget:
            self._owners.setdefault(owner, _Owner(self._clock())).uids.add(uid)
            self._entries[uid] = _Entry(nbytes, owner, value)
            self._shrink()

    def get(self, uid: int) -> Any | None:
        found = self._entries.get(uid)
        return None if found is None else found.value

    def drop(self, uid: int) -> None:
        found = self._entries.pop(uid, None)
        if found is not None:
            self._owners[found.owner].uids.discard(uid)

    def clear(self) -> None:
        self._entries.clear()
        self._owners.clear()
        self._shrink()

    def _shrink(self) -> None:
        """Evicts entries over this process's part of the budget, and publishes its size."""
        limit = self.budget if self._sizes is None else self._sizes.limit(self.budget)
        while self.nbytes > limit:
            uid, entry = self._entries.popitem()
            self._owners[entry.owner].uids.discard(uid)
        if self._sizes is not None:
            self._sizes.publish(self.nbytes, len(self))


_cache = SegmentCache(int(os.environ.get(CACHE_SETTING, str(DEFAULT_BYTES))))


def share_budget(sizes: CacheSizes) -> None:
    """Makes this process's cache share its budget with those of forked processes."""
    global _cache  # noqa: PLW0603 -- one cache a process
    _cache = SegmentCache(_cache.budget, sizes)


def retain(owner: int, live: Collection[int]) -> None:
    _cache.retain(owner, live)


def put_cached(owner: int, uid: int, value: Any, nbytes: int) -> None:
    _cache.put(owner, uid, value, nbytes)


def get_cached(uid: int) -> Any | None:
    return _cache.get(uid)


def drop_cached(uid: int) -> None:
    _cache.drop(uid)


def clear_cache() -> None:
    _cache.clear()
