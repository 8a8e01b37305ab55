"""Fetches rows by key from a database: in batches, several at a time, with retries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from threading import Event

import polars as pl
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_after_attempt,
    stop_when_event_set,
    wait_exponential,
    wait_random,
)

from millstream.connectors.lookup.failures import UnreachableError, failure_reason, lookup_failed
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store
from millstream.connectors.lookup.values import empty_frame
from millstream.values import OnError

FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds


@dataclass(slots=True)
class LookupResult:
    """The rows that the database returned for a set of keys."""

    rows: pl.DataFrame  # columns of spec.read; may include rows of other keys
    failed: list[tuple[int, int, str]] = field(default_factory=list)  # first key, end, reason
    queries: int = 0
    retries: int = 0


@dataclass(slots=True)
class _BatchResult:
    rows: pl.DataFrame | None  # None if the lookup failed
    reason: str = ""
    attempts: int = 1


class LookupClient:
    """Looks up keys in a database, as the 'lookup.…' properties of a table say."""

    def __init__(self, spec: LookupSpec, store: Store) -> None:
        self._spec = spec
        self._store = store

    def fetch(self, keys: pl.DataFrame) -> LookupResult:
        """Returns the rows of all keys; raises RunError if a batch fails under on_error = fail."""
        size = self._spec.access.batch
        starts = range(0, keys.height, size)
        batches = [keys.slice(start, size) for start in starts]
        fetched = self._fetch_batches(batches)
        result = LookupResult(empty_frame(self._spec))
        frames = [each.rows for each in fetched if each.rows is not None]
        result.rows = pl.concat([result.rows, *frames])
        for start, batch, each in zip(starts, batches, fetched, strict=True):
            result.queries += each.attempts
            result.retries += each.attempts - 1
            if each.rows is None:
                result.failed.append((start, start + batch.height, each.reason))
        return result

    def _fetch_batches(self, batches: list[pl.DataFrame]) -> list[_BatchResult]:
        stop_retries = Event()
        if len(batches) == 1:
            return [self._fetch_batch(batches[0], stop_retries)]
        with ThreadPoolExecutor(self._spec.access.capacity, "lookup") as threads:
            futures = [threads.submit(self._fetch_batch, each, stop_retries) for each in batches]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                stop_retries.set()  # the results of other batches are not used
                threads.shutdown(cancel_futures=True)
                raise
        return [future.result() for future in futures]

    def _fetch_batch(self, keys: pl.DataFrame, stop_retries: Event) -> _BatchResult:
        """Fetches one batch. After a batch has failed, others of the same call are tried once, so
        that an unreachable database delays the call by the retries of one batch only."""
        attempts = 0

        def count_attempt(_: RetryCallState) -> None:
            nonlocal attempts
            attempts += 1

        retrying = Retrying(
            retry=retry_if_exception_type(UnreachableError),
            stop=stop_after_attempt(self._spec.access.retries + 1)
            | stop_when_event_set(stop_retries),
            wait=wait_exponential(FIRST_WAIT, LONGEST_WAIT) + wait_random(0, FIRST_WAIT),
            sleep=sleep_using_event(stop_retries),
            before=count_attempt,
            reraise=True,
        )
        try:
            return _BatchResult(retrying(self._store.fetch, keys), attempts=attempts)
        except UnreachableError as error:
            stop_retries.set()
            if self._spec.access.on_error is OnError.FAIL:
                raise lookup_failed(self._spec, attempts, error.reason) from None
            reason = failure_reason(self._spec, attempts, error.reason)
            return _BatchResult(None, reason, attempts)
