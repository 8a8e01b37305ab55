"""A running query and the progress that Spark reports of it."""

from __future__ import annotations

import json
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
    """A query of a run."""

    plan: Query
    engine: Engine
    query: StreamingQuery
    ledger_store: LedgerStore
    checkpoint: Checkpoint
    writer: QueryWriter
    first_batch: int
    _report: StreamingQueryProgress | None = None
    _last_counted: int = field(init=False)  # the last batch in the ledger
    _lock: Lock = field(default_factory=Lock)  # the threads that run and display it

    def __post_init__(self) -> None:
        self._last_counted = self.first_batch - 1

    @property
    def report(self) -> StreamingQueryProgress | None:
        """Spark's report of the last batch of this run."""
        last = self.query.lastProgress
        if last is None:
            return self._report
        if _is_batch(last):
            self._report = last
        elif self._report is None or self._report.batchId < last.batchId - 1:
            # A trigger without new rows has reported since, with the number of the next batch.
            done = filter(_is_batch, reversed(self.query.recentProgress))
            self._report = next(done, self._report)
        return self._report

    @property
    def busy(self) -> bool:
        """Whether a batch with input is being processed."""
        status = self.query.status
        return bool(status["isTriggerActive"] and status["isDataAvailable"])

    def update_ledger(self) -> None:
        """Adds counts to the ledger that only Spark reports."""
        if self.writer.is_direct or self.ledger_store.is_native:
            with self._lock:
                self._update_ledger()

    def _update_ledger(self) -> None:
        last = self.query.lastProgress
        if last is None or _done(last) == self._last_counted:
            return
        # Spark takes a while to return all reports.
        follows = _is_batch(last) and last.batchId == self._last_counted + 1
        reports = [last] if follows else self.query.recentProgress
        if self.writer.is_direct:
            for report in filter(self._is_new, reports):
                self.writer.record_report(report.batchId, report.observedMetrics)
                self._last_counted = report.batchId
        if self.ledger_store.is_native:
            self.ledger_store.add_spark_reports(json.loads(report.json) for report in reports)
        self._last_counted = max(self._last_counted, _done(last))

    def _is_new(self, report: StreamingQueryProgress) -> bool:
        return _is_batch(report) and report.batchId > self._last_counted


def _done(report: StreamingQueryProgress) -> int:
    """The last complete batch. A trigger without new rows reports the number of the next batch."""
    return report.batchId if _is_batch(report) else report.batchId - 1


def _is_batch(report: StreamingQueryProgress) -> bool:
    return "addBatch" in report.durationMs
