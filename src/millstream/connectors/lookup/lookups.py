"""Rows of a database's table by their keys: from memory where they are known, else asked for."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.connectors.lookup.batching import Answers, Asker
from millstream.connectors.lookup.cache import Cache
from millstream.connectors.lookup.entries import NUMBER, REASON
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store, open_store
from millstream.connectors.lookup.values import empty_frame

Numbers = npt.NDArray[np.uint32]

COUNTS = (
    "asked",  # keys: hits + negative_hits + misses
    "hits",  # found in memory
    "negative_hits",  # known to be absent
    "misses",  # asked of the database: found + absent + failed
    "found",
    "absent",
    "failed",
    "expired",  # misses that were remembered for too long
    "evicted",  # keys that made room for others
    "queries",
    "retries",  # queries that repeat one that failed
)


_NO_FAILURES = pl.DataFrame(schema={NUMBER: pl.UInt32, REASON: pl.String})


@dataclass(slots=True)
class Found:
    """Rows come in no order; a key may have several or none."""

    rows: pl.DataFrame  # NUMBER, the number of the key, and the columns of the spec
    failed: pl.DataFrame  # NUMBER and REASON of keys whose lookup failed


class Lookups:
    """For one thread at a time; another waits."""

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
        self._asker = Asker(spec, self._store)
        self._cache = Cache(spec.access.cache_rows, spec.access.cache_ttl / 1e6)
        empty = empty_frame(spec)
        self._key_types = pl.Schema({name: empty.schema[name] for name in spec.keys})
        self._no_rows = empty.select(spec.columns).insert_column(0, _NO_FAILURES[NUMBER])
        self._lock = threading.Lock()

    def find(self, keys: pl.DataFrame) -> Found:
        """`keys`: distinct, without NULLs, under the names of `spec.keys`."""
        with self._lock:
            return self._find(keys.cast(self._key_types).select(self.spec.keys))

    def close(self) -> None:
        self._store.close()

    def _find(self, keys: pl.DataFrame) -> Found:
        now = self._clock()
        known = self._cache.find(keys, now)
        self._count(
            asked=keys.height,
            hits=known.hits,
            negative_hits=known.negative_hits,
            misses=len(known.missing),
            expired=known.expired,
        )
        if not len(known.missing):
            return Found(pl.concat([self._no_rows, *known.rows]), _NO_FAILURES)
        asked = keys if len(known.missing) == keys.height else keys[known.missing]
        answers = self._asker.ask(asked)
        rows = self._whose(asked, answers.rows)
        failed = _failures(answers)
        if not failed.is_empty():
            rows = rows.join(failed, on=NUMBER, how="anti")
        self._remember(asked, rows, failed, now)
        found = rows[NUMBER].n_unique()
        self._count(
            found=found,
            absent=asked.height - found - failed.height,
            failed=failed.height,
            queries=answers.queries,
            retries=answers.retries,
        )
        numbers = known.missing.astype(np.uint32)
        rows, failed = _renumbered(rows, numbers), _renumbered(failed, numbers)
        return Found(pl.concat([self._no_rows, *known.rows, rows]), failed)

    def _whose(self, keys: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the number of their key. Keys are equal as in Spark, byte by byte, also where
        the database takes 'a' and 'A' for the same."""
        names = list(self.spec.keys)
        matched = keys.with_row_index(NUMBER).join(rows, on=names, how="inner")
        return matched.select(NUMBER, *self.spec.columns)

    def _remember(
        self, keys: pl.DataFrame, rows: pl.DataFrame, failed: pl.DataFrame, asked_at: float
    ) -> None:
        """An answer is as old as its question. A key that could not be asked is not known."""
        if not failed.is_empty():
            answered = np.setdiff1d(np.arange(keys.height), failed[NUMBER].to_numpy())
            among = np.zeros(keys.height, np.uint32)
            among[answered] = np.arange(len(answered))
            keys, rows = keys[answered], _renumbered(rows, among)
        self._count(evicted=self._cache.put(keys, rows, asked_at, self._clock()))

    def _count(self, **more: int) -> None:
        for name, number in more.items():
            self.counts[name] += number


def _failures(answers: Answers) -> pl.DataFrame:
    numbers = [np.arange(start, stop, dtype=np.uint32) for start, stop, _ in answers.failed]
    reasons = [pl.repeat(why, stop - start, eager=True) for start, stop, why in answers.failed]
    pieces = [
        pl.DataFrame({NUMBER: number, REASON: reason})
        for number, reason in zip(numbers, reasons, strict=True)
    ]
    return pl.concat([_NO_FAILURES, *pieces])


def _renumbered(rows: pl.DataFrame, numbers: Numbers) -> pl.DataFrame:
    """Rows by numbers among some keys, by the numbers that these keys have among all."""
    return rows.with_columns(pl.Series(NUMBER, numbers[rows[NUMBER].to_numpy()]))


_open: dict[tuple[int, LookupSpec], Lookups] = {}


def lookups_of(spec: LookupSpec) -> Lookups:
    """The lookups of this process: what they remember lives as long as the worker. A process that
    was forked does not use its parent's connections."""
    mine = (os.getpid(), spec)
    if mine not in _open:
        _open[mine] = Lookups(spec)
    return _open[mine]
