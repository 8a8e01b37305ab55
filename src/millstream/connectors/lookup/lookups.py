"""Finds rows of a database table by key, in the cache or in the database."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.connectors.lookup.batching import LookupClient, LookupResult
from millstream.connectors.lookup.cache import Cache
from millstream.connectors.lookup.entries import NUMBER, REASON
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store, open_store
from millstream.connectors.lookup.values import empty_frame

Numbers = npt.NDArray[np.uint32]

COUNTS = (
    "requested",  # keys: hits + negative_hits + misses
    "hits",  # found in the cache
    "negative_hits",  # known to be absent
    "misses",  # looked up in the database: found + absent + failed
    "found",
    "absent",
    "failed",
    "expired",  # misses whose cache entry was too old
    "evicted",  # keys removed from the cache because of its limit
    "queries",
    "retries",  # queries that repeat a failed one
)


_NO_FAILURES = pl.DataFrame(schema={NUMBER: pl.UInt32, REASON: pl.String})


@dataclass(slots=True)
class LookupRows:
    """The rows of a set of keys, in any order; a key may have several rows or none."""

    rows: pl.DataFrame  # NUMBER, the number of the key, and the columns of the spec
    failed: pl.DataFrame  # NUMBER and REASON of keys whose lookup failed


class Lookups:
    """Looks up rows through the cache. Thread-safe: one call at a time."""

    def __init__(
        self,
        spec: LookupSpec,
        *,
        clock: Callable[[], float] = time.monotonic,
        store: Store | None = None,
    ) -> None:
        self.spec = spec
        self.counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
        self._clock = clock
        self._store = store or open_store(spec)
        self._client = LookupClient(spec, self._store)
        self._cache = Cache(spec.access.cache_rows, spec.access.cache_ttl / 1e6)
        empty = empty_frame(spec)
        self._key_types = pl.Schema({name: empty.schema[name] for name in spec.keys})
        self._no_rows = empty.select(spec.columns).insert_column(0, _NO_FAILURES[NUMBER])
        self._lock = threading.Lock()

    def find(self, keys: pl.DataFrame) -> LookupRows:
        """Returns the rows of `keys`, which are distinct and not NULL, in columns `spec.keys`."""
        with self._lock:
            return self._find(keys.cast(self._key_types).select(self.spec.keys))

    def close(self) -> None:
        self._store.close()

    def _find(self, keys: pl.DataFrame) -> LookupRows:
        now = self._clock()
        known = self._cache.find(keys, now)
        self._count(
            requested=keys.height,
            hits=known.hits,
            negative_hits=known.negative_hits,
            misses=len(known.missing),
            expired=known.expired,
        )
        if not len(known.missing):
            return LookupRows(pl.concat([self._no_rows, *known.rows]), _NO_FAILURES)
        requested = keys if len(known.missing) == keys.height else keys[known.missing]
        result = self._client.fetch(requested)
        rows = self._number_rows(requested, result.rows)
        failed = _failed_keys(result)
        if not failed.is_empty():
            rows = rows.join(failed, on=NUMBER, how="anti")
        self._remember(requested, rows, failed, now)
        found = rows[NUMBER].n_unique()
        self._count(
            found=found,
            absent=requested.height - found - failed.height,
            failed=failed.height,
            queries=result.queries,
            retries=result.retries,
        )
        numbers = known.missing.astype(np.uint32)
        rows, failed = _renumber(rows, numbers), _renumber(failed, numbers)
        return LookupRows(pl.concat([self._no_rows, *known.rows, rows]), failed)

    def _number_rows(self, keys: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """Adds the number of their key to rows. Keys are compared byte by byte, as in Spark, even
        if the database regards 'a' and 'A' as equal."""
        names = list(self.spec.keys)
        matched = keys.with_row_index(NUMBER).join(rows, on=names, how="inner")
        return matched.select(NUMBER, *self.spec.columns)

    def _remember(
        self, keys: pl.DataFrame, rows: pl.DataFrame, failed: pl.DataFrame, fetched_at: float
    ) -> None:
        """Caches fetched rows with the time of the request; keys that failed are not cached."""
        if not failed.is_empty():
            succeeded = np.setdiff1d(np.arange(keys.height), failed[NUMBER].to_numpy())
            new_numbers = np.zeros(keys.height, np.uint32)
            new_numbers[succeeded] = np.arange(len(succeeded))
            keys, rows = keys[succeeded], _renumber(rows, new_numbers)
        self._count(evicted=self._cache.put(keys, rows, fetched_at, self._clock()))

    def _count(self, **more: int) -> None:
        for name, number in more.items():
            self.counts[name] += number


def _failed_keys(result: LookupResult) -> pl.DataFrame:
    numbers = [np.arange(start, stop, dtype=np.uint32) for start, stop, _ in result.failed]
    reasons = [pl.repeat(why, stop - start, eager=True) for start, stop, why in result.failed]
    pieces = [
        pl.DataFrame({NUMBER: number, REASON: reason})
        for number, reason in zip(numbers, reasons, strict=True)
    ]
    return pl.concat([_NO_FAILURES, *pieces])


def _renumber(rows: pl.DataFrame, numbers: Numbers) -> pl.DataFrame:
    """Replaces each row's key number by the number at that position of `numbers`."""
    return rows.with_columns(pl.Series(NUMBER, numbers[rows[NUMBER].to_numpy()]))


_open: dict[tuple[int, LookupSpec], Lookups] = {}


def get_lookups(spec: LookupSpec) -> Lookups:
    """Returns the lookups of this process, whose cache lives as long as the worker. A forked
    process does not share its parent's connections."""
    key = (os.getpid(), spec)
    if key not in _open:
        _open[key] = Lookups(spec)
    return _open[key]
