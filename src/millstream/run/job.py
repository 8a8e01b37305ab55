"""Runs a job: starts its streaming queries, waits for them and stops them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.sink import Sink
from millstream.engine.shuffle.control_stream import (
    end_of_input,
    last_processing_time,
    send_processing_time,
)
from millstream.errors import MillstreamError
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.facts.output_groups import query_operators
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Engine, Job, Query, ReferenceTable, SinkDef, Source
from millstream.plan.nodes.traversal import can_retract, reference_tables_of, table_joins_of
from millstream.run.failures import failure, located, user_error
from millstream.run.processing_time import processing_time_spans
from millstream.run.query import RunningQuery
from millstream.run.query_preparation import PreparedQuery, QueryPreparation
from millstream.run.settings import AVAILABLE_NOW
from millstream.run.tables import FOLDER as TABLES
from millstream.run.tables import JobTables
from millstream.temporal import DEFAULT_MAX_AHEAD

_POLL = 0.05
_UPDATE_SECONDS = 1.0  # seconds between updates of ledgers


class Status(StrEnum):
    """The outcome of a query in a run."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(slots=True)
class JobRun:
    """A run of a job. `sources`, `sinks` and `read_table` replace connectors: for DataFrames of the
    Python API, and in test cases."""

    spark: SparkSession
    job: Job
    checkpoint: Path
    base: Path
    sources: Callable[[SparkSession, Source], DataFrame | None] | None = None
    sinks: Callable[[SinkDef], Sink] | None = None
    groups: int | None = None
    log: Path | None = None
    read_table: Callable[[ReferenceTable], pa.Table] | None = None
    max_ahead: int | None = DEFAULT_MAX_AHEAD  # default of sources
    connectors: ConnectorRegistry = field(default_factory=installed_connectors)
    flushes: bool = False  # whether `flush` is called at the end of the available input
    tables: JobTables = field(init=False)
    queries: tuple[Query, ...] = field(init=False)
    running: list[RunningQuery] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # oldest first
    failures: dict[str, MillstreamError] = field(default_factory=dict)  # by query, in order of time
    _stopped: set[str] = field(default_factory=set)
    _is_stopping: bool = False
    _flushed: bool = False
    _ends_itself: bool = False  # whether queries end after the available input
    _last_update: float = 0.0

    def __post_init__(self) -> None:
        self.queries = group_into_queries(self.job)
        folder = self.checkpoint.resolve() / TABLES
        self.tables = JobTables(self.spark, folder, self.base, self.read_table, self.connectors)

    def start(self, trigger: Mapping[str, object]) -> None:
        """Starts every query, once Spark's analyzer has accepted all of them.

        `trigger` are the arguments of Spark's `DataStreamWriter.trigger`.
        """
        self._ends_itself = trigger == AVAILABLE_NOW
        for table in reference_tables_of(self.job):
            with user_error(self.log):
                self.tables.open(table, is_fixed=self._joins_changelog(table))
        for each in self.prepare():
            with self._recording_failure(each.plan):
                self.running.append(each.start(trigger))

    def prepare(self) -> list[PreparedQuery]:
        """Compiles all queries, which Spark's analyzer verifies, and opens their sinks."""
        preparation = QueryPreparation(
            self.spark,
            self.job,
            self.queries,
            self.checkpoint.resolve(),
            self.base,
            self.connectors,
            self.tables,
            self.warn,
            given_sources=self.sources,
            given_sinks=self.sinks,
            groups=self.groups,
            log=self.log,
            max_ahead=self.max_ahead,
        )
        compiled, prepared = [], []
        for query in self.queries:
            with self._recording_failure(query):
                compiled.append(preparation.compile(query))
        preparation.choose_side_output_writers(compiled)
        for each in compiled:
            with self._recording_failure(each.plan):
                prepared.append(preparation.open(each))
        return prepared

    @contextmanager
    def _recording_failure(self, query: Query) -> Iterator[None]:
        """Records that a query failed; raises it unless the job is set to continue."""
        try:
            with user_error(self.log):
                yield
        except MillstreamError as error:
            found = self._located(error, query)
            if self.job.setting("on.failure") != "continue":
                self.failures.setdefault(query.name, found)
                raise found from error
            if query.name not in self.failures:
                self.failures[query.name] = found
                self.warn(f"{query.title} failed ({found.code}); the other queries continue.")

    def _located(self, error: MillstreamError, query: Query) -> MillstreamError:
        others = [each.span for each in self.job.pipelines if each not in query.outputs]
        return located(error, self.job.text, [span for span in others if span])

    def raise_failure(self) -> None:
        """Raises the first failure of a query, if one has failed."""
        for error in self.failures.values():
            raise error

    def status(self, query: Query) -> Status:
        if query.name in self.failures:
            return Status.FAILED
        started = any(each.plan is query for each in self.running)
        if not started or query.name in self._stopped:
            return Status.STOPPED
        return Status.COMPLETED

    def _joins_changelog(self, table: ReferenceTable) -> bool:
        return any(
            join.table == table and can_retract(join.left.node)
            for pipeline in self.job.pipelines
            for join in table_joins_of(pipeline.root)
        )

    def process_available(self) -> None:
        """Waits until every query has processed all available input."""
        for each in self.healthy():
            with (
                self._recording_failure(each.plan),
                each.writer.raise_own_error(),
                user_error(self.log),
            ):
                # A trigger that has read its sources just before the call may end the first wait.
                each.streaming_query.processAllAvailable()
                each.streaming_query.processAllAvailable()
            each.update_ledger()

    def warn(self, text: str) -> None:
        """Adds a warning, which is printed once."""
        self.warnings.append(text)

    @property
    def last_processing_time(self) -> int:
        """The latest processing time that this run or an earlier one sent to a query."""
        return max(
            (last_processing_time(each.checkpoint.control) for each in self.running), default=0
        )

    def healthy(self) -> list[RunningQuery]:
        """The queries that have not failed."""
        return [each for each in self.running if each.plan.name not in self.failures]

    def send_processing_time(self, now: int) -> None:
        """Sends processing time, in microseconds, to queries that need it."""
        for each in self.healthy():
            if processing_time_spans(each.plan):
                send_processing_time(each.checkpoint.control, now)

    def flush(self) -> None:
        """Ends the input and waits until all rows in state have been emitted. Queries that have
        ended, because they processed the available input only, are started again for this."""
        for each in self.healthy():
            end_of_input(each.checkpoint.control)
        if self._ends_itself:
            self._run_again()
        else:
            self.process_available()
        for each in self.healthy():
            # If a query was stopped meanwhile, its wait has ended and rows are still in state.
            complete = self._ends_itself or each.streaming_query.isActive
            ended = each.engine is Engine.NATIVE or each.ledger_store.ended
            if query_operators(each.plan) and complete and ended and not self._is_stopping:
                each.checkpoint.end()
        self._flushed = not self._is_stopping
        self.raise_failure()

    def _run_again(self) -> None:
        """Starts queries with state again, after their end, and waits for their second end."""
        for each in self.healthy():
            with self._recording_failure(each.plan):
                if query_operators(each.plan) and not self._is_stopping:
                    each.start_again(AVAILABLE_NOW)
        if self._is_stopping:  # possibly before a query was started
            self.stop()
        while not self._wait(_POLL):
            pass

    def wait(self, seconds: float) -> bool:
        """Waits for the end of all queries, for `seconds` at most. Returns False if one still runs.

        Raises the failure of a query: immediately, or after the others have ended if the job
        continues after a failure.
        """
        ended = self._wait(seconds)
        # Before a flush, the other queries continue.
        if ended and not self.flushes:
            self.raise_failure()
        return ended

    def _wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while True:
            active = [each for each in self.running if each.streaming_query.isActive]
            now = time.monotonic()
            is_due = now - self._last_update >= _UPDATE_SECONDS
            for each in self.running:
                if is_due or each not in active:
                    each.update_ledger()
                if each not in active and (error := each.streaming_query.exception()):
                    with self._recording_failure(each.plan):
                        raise each.writer.error or failure(error, self.log)
            self._last_update = now if is_due else self._last_update
            remaining = until - now
            if not active or remaining <= 0:
                return not active
            time.sleep(min(remaining, _POLL))

    def stop(self) -> None:
        """Stops all queries."""
        self._is_stopping = True
        for each in self.running:
            # If the JVM has ended, there is nothing to stop and no more counts.
            with suppress(Py4JError, OSError):
                self._record_end(each)
                each.streaming_query.stop()
                each.update_ledger()

    def _record_end(self, each: RunningQuery) -> None:
        """Records that a query is stopped before its end, or has failed after another one."""
        name = each.plan.name
        if name in self._stopped or name in self.failures:
            return
        try:
            error = each.streaming_query.exception() if self.failures else None
            is_stopped = not self._flushed and (self.flushes or each.streaming_query.isActive)
        except (Py4JError, OSError):  # the JVM no longer responds
            self._stopped.add(name)
            return
        if error is not None:
            found = each.writer.error or failure(error, self.log)
            self.failures[name] = self._located(found, each.plan)
        elif is_stopped:
            self._stopped.add(name)
