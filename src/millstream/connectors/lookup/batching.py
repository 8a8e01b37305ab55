"""Keys asked of a database: in batches, several at once, again where that may help."""

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

from millstream.connectors.lookup.failures import UnreachableError, gave_up, gave_up_reason
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.store import Store
from millstream.connectors.lookup.values import empty_frame
from millstream.values import OnError

FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds


@dataclass(slots=True)
class Answers:
    """What the database said of the keys that it was asked for."""

    rows: pl.DataFrame  # of spec.read; rows of other keys may be among them
    failed: list[tuple[int, int, str]] = field(default_factory=list)  # keys from, to, why
    queries: int = 0
    retries: int = 0


@dataclass(slots=True)
class _Answer:
    rows: pl.DataFrame | None
    reason: str = ""
    tries: int = 1


class Asker:
    def __init__(self, spec: LookupSpec, store: Store) -> None:
        self._spec = spec
        self._store = store

    def ask(self, keys: pl.DataFrame) -> Answers:
        size = self._spec.access.batch
        starts = range(0, keys.height, size)
        batches = [keys.slice(start, size) for start in starts]
        found = self._in_turn(batches)
        answers = Answers(empty_frame(self._spec))
        frames = [answer.rows for answer in found if answer.rows is not None]
        answers.rows = pl.concat([answers.rows, *frames])
        for start, batch, answer in zip(starts, batches, found, strict=True):
            answers.queries += answer.tries
            answers.retries += answer.tries - 1
            if answer.rows is None:
                answers.failed.append((start, start + batch.height, answer.reason))
        return answers

    def _in_turn(self, batches: list[pl.DataFrame]) -> list[_Answer]:
        hopeless = Event()
        if len(batches) == 1:
            return [self._try(batches[0], hopeless)]
        with ThreadPoolExecutor(self._spec.access.capacity, "lookup") as threads:
            asked = [threads.submit(self._try, batch, hopeless) for batch in batches]
            try:
                for future in as_completed(asked):
                    future.result()
            except BaseException:
                hopeless.set()  # nobody waits for the answers of the others
                threads.shutdown(cancel_futures=True)
                raise
        return [future.result() for future in asked]

    def _try(self, keys: pl.DataFrame, hopeless: Event) -> _Answer:
        """Once a question was given up, the others of this call get one try each: were the
        database away, every one of them would wait as long."""
        tries = 0

        def again(_: RetryCallState) -> None:
            nonlocal tries
            tries += 1

        retrying = Retrying(
            retry=retry_if_exception_type(UnreachableError),
            stop=stop_after_attempt(self._spec.access.retries + 1) | stop_when_event_set(hopeless),
            wait=wait_exponential(FIRST_WAIT, LONGEST_WAIT) + wait_random(0, FIRST_WAIT),
            sleep=sleep_using_event(hopeless),
            before=again,
            reraise=True,
        )
        try:
            return _Answer(retrying(self._store.ask, keys), tries=tries)
        except UnreachableError as error:
            hopeless.set()
            if self._spec.access.on_error is OnError.FAIL:
                raise gave_up(self._spec, tries, error.reason) from None
            return _Answer(None, gave_up_reason(self._spec, tries, error.reason), tries)
