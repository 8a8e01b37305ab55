"""A running query and the progress that Spark reports of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from millstream.plan.nodes import Engine, Query
from millstream.run.checkpoint import Checkpoint
from millstream.run.ledger_store import LedgerStore
from millstream.run.query_writer import QueryWriter


@dataclass(slots=True)
class RunningQuery:
    """A query of a run. `streaming_query` is Spark's."""

    plan: Query
    engine: Engine
    streaming_query: StreamingQuery
    ledger_store: LedgerStore
    checkpoint: Checkpoint
    writer: QueryWriter
    first_batch: int
    _progress: StreamingQueryProgress | None = None
    _last_counted: int = field(init=False)  # the last batch in the ledger
    _lock: Lock = field(default_factory=Lock)  # the threads that run and display it

    def __post_init__(self) -> None:
        self._last_counted = self.first_batch - 1

    @property
    def progress(self) -> StreamingQueryProgress | None:
        """Spark's progress of the last batch of this run."""
        last = self.streaming_query.lastProgress
        if last is None:
            return self._progress
        if _is_batch(last):
            self._progress = last
        elif self._progress is None or self._progress.batchId < last.batchId - 1:
            # A trigger without new rows has reported since, with the number of the next batch.
            done = filter(_is_batch, reversed(self.streaming_query.recentProgress))
            self._progress = next(done, self._progress)
        return self._progress

    @property
    def busy(self) -> bool:
        """Whether a batch with input is being processed."""
        status = self.streaming_query.status
        return bool(status["isTriggerActive"] and status["isDataAvailable"])

    def start_again(self, trigger: Mapping[str, object]) -> None:
        """Starts the query again, after its end."""
        self.streaming_query.awaitTermination()
        self.update_ledger()
        self._progress = self.progress
        self.streaming_query = self.writer.start(trigger)

    def update_ledger(self) -> None:
        """Adds counts to the ledger that only Spark reports."""
        if self.writer.is_direct or self.ledger_store.is_native:
            with self._lock:
                self._update_ledger()

    def _update_ledger(self) -> None:
        last = self.streaming_query.lastProgress
        if last is None or _done(last) == self._last_counted:
            return
        # Spark takes a while to return all of them.
        follows = _is_batch(last) and last.batchId == self._last_counted + 1
        recent = [last] if follows else self.streaming_query.recentProgress
        if self.writer.is_direct:
            for progress in filter(self._is_new, recent):
                self.writer.record_progress(progress.batchId, progress.observedMetrics)
                self._last_counted = progress.batchId
        if self.ledger_store.is_native:
            self.ledger_store.add_spark_progress(json.loads(each.json) for each in recent)
        self._last_counted = max(self._last_counted, _done(last))

    def _is_new(self, progress: StreamingQueryProgress) -> bool:
        return _is_batch(progress) and progress.batchId > self._last_counted


def _done(progress: StreamingQueryProgress) -> int:
    """The last complete batch. A trigger without new rows reports the number of the next batch."""
    return progress.batchId if _is_batch(progress) else progress.batchId - 1


def _is_batch(progress: StreamingQueryProgress) -> bool:
    return "addBatch" in progress.durationMs
