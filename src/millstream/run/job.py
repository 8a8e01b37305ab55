"""Runs a job: starts its streaming queries, waits for them and stops them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.file.sink_options import checkpoint_sink
from millstream.connectors.registry import open_sink, open_source
from millstream.connectors.sink import Sink, SupportsSharing
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.query import CompiledQuery, compile_query
from millstream.engine.compile.scan_rows import rows_of
from millstream.engine.runtime.session import native_session, partitions
from millstream.engine.shuffle.control_stream import (
    announce_partitions,
    end_of_input,
    last_processing_time,
    send_processing_time,
)
from millstream.errors import MillstreamError
from millstream.observe.ledger import OWN_LATE_SINK
from millstream.plan.build.query_groups import choose_query_engine, group_into_queries
from millstream.plan.connectors import CHECKPOINT, ConnectorRegistry
from millstream.plan.facts.branches import query_operators, query_sources
from millstream.plan.facts.side_outputs import queries_with_dead_letters
from millstream.plan.facts.used_columns import used_columns
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import (
    Engine,
    Job,
    Operator,
    Query,
    ReferenceTable,
    SinkDef,
    Source,
)
from millstream.plan.nodes.traversal import can_retract, reference_tables_of, table_joins_of
from millstream.run.checkpoint import Checkpoint
from millstream.run.dead_letter_queries import record_dead_letter_queries
from millstream.run.failures import failure, located, user_error
from millstream.run.file_log import FileLog
from millstream.run.ledger_store import LedgerStore
from millstream.run.processing_time import processing_time_spans
from millstream.run.query import RunningQuery
from millstream.run.query_writer import QueryWriter, sink_columns
from millstream.run.state_limits import StateLimits
from millstream.run.tables import FOLDER as TABLES
from millstream.run.tables import JobTables
from millstream.temporal import DEFAULT_MAX_AHEAD, LateAction

GROUPS_PER_PARTITION = 1


_POLL = 0.05
_UPDATE_SECONDS = 1.0  # seconds between updates of ledgers


class Status(StrEnum):
    """The outcome of a query in a run."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A query that is ready to start."""

    spark: SparkSession
    query: Query
    engine: Engine
    folder: Checkpoint
    first: int  # batch
    sources: Mapping[str, DataFrame | DeferredFrame]
    sinks: Mapping[str, Sink]
    compiled: CompiledQuery


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A compiled query whose sinks are open."""

    query: Query
    engine: Engine
    ledger_store: LedgerStore
    checkpoint: Checkpoint
    writer: QueryWriter
    first: int

    def start(self, trigger: Mapping[str, object]) -> RunningQuery:
        started = self.writer.start(trigger)
        return RunningQuery(
            self.query,
            self.engine,
            started,
            self.ledger_store,
            self.checkpoint,
            self.writer,
            self.first,
        )


@dataclass(slots=True)
class JobRun:
    """A run of a job. `sources` and `sinks` replace connectors, in tests."""

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
    tables: JobTables = field(init=False)
    queries: tuple[Query, ...] = field(init=False)
    running: list[RunningQuery] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # oldest first
    failures: dict[str, MillstreamError] = field(default_factory=dict)  # by query, in order of time
    _late_operators: dict[str, list[CompiledOperator]] = field(default_factory=dict)
    _malformed: dict[str, str] = field(default_factory=dict)  # the query that writes, by source
    _stopped: set[str] = field(default_factory=set)
    _flushed: bool = False
    _last_update: float = 0.0

    def __post_init__(self) -> None:
        self.queries = group_into_queries(self.job)
        folder = self.checkpoint.resolve() / TABLES
        self.tables = JobTables(self.spark, folder, self.base, self.read_table, self.connectors)

    def start(self, trigger: Mapping[str, object]) -> None:
        """Starts every query, once Spark's analyzer has accepted all of them.

        `trigger` are the arguments of Spark's `DataStreamWriter.trigger`.
        """
        for table in reference_tables_of(self.job):
            with user_error(self.log):
                self.tables.open(table, is_fixed=self._joins_changelog(table))
        for each in self.prepare():
            with self._recording_failure(each.query):
                self.running.append(each.start(trigger))

    def prepare(self) -> list[PreparedQuery]:
        """Compiles all queries, which Spark's analyzer verifies, and opens their sinks."""
        compiled, prepared = [], []
        for query in self.queries:
            with self._recording_failure(query):
                compiled.append(self._compile(query))
        self._late_operators = _late_operators(compiled)
        self._malformed = record_dead_letter_queries(self.checkpoint.resolve(), self.queries)
        for each in compiled:
            with self._recording_failure(each.query):
                prepared.append(self._open(each))
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

    def _compile(self, query: Query) -> _Compiled:
        engine, _ = choose_query_engine(query)
        spark = native_session(self.spark) if engine is Engine.NATIVE else self.spark
        folder = self._folder(query)
        wanted = self.groups or GROUPS_PER_PARTITION * partitions(spark)
        groups = folder.open(query, wanted, self.job.sinks)
        FileLog(folder.spark).remove_unplanned()
        first = folder.next_batch
        sources = {
            source.name: self._rows(
                spark, self._with_checkpoint(source, folder), self._columns_of(query, source)
            )
            for source in query_sources(query)
        }
        for name, rows in sources.items():
            if isinstance(rows, DeferredFrame) and rows.origin is not None:
                announce_partitions(folder.control, name, rows.origin.partitions or ())
        sinks = {sink.name: self.open_sink(sink) for sink in query.sinks}
        compiled = compile_query(
            spark,
            query,
            sources,
            engine=engine,
            groups=groups,
            control=str(folder.control),
            tables=self.tables,
            max_ahead=self._max_ahead(query),
            sends_allowances=True,
            project=lambda output, schema: sink_columns(spark, sinks[output.sink.name], schema),
        )
        return _Compiled(spark, query, engine, folder, first, sources, sinks, compiled)

    def _open(self, each: _Compiled) -> PreparedQuery:
        ledger_store = LedgerStore.open(each.query, each.folder.ledger, each.first)
        limits = StateLimits.of(each.query, each.folder.control)
        writer = QueryWriter(
            self,
            each.spark,
            each.query,
            each.compiled,
            each.sinks,
            ledger_store,
            limits,
            each.folder,
            self.log,
        )
        writer.open(each.sources)
        return PreparedQuery(each.query, each.engine, ledger_store, each.folder, writer, each.first)

    def _columns_of(self, query: Query, source: Source) -> tuple[str, ...]:
        """The columns of a source that a query reads. If its malformed records go to one sink, all
        queries read the same columns, so that all find the same records."""
        readers = queries_with_dead_letters(self.queries, source.name)
        outputs = [output for each in (query, *readers) for output in each.outputs]
        names = {name for output in outputs for name in used_columns(output.root, source)}
        known = [column.name for column in source.columns]
        known += [name for name, _ in source.system_columns if name not in known]
        return tuple(name for name in known if name in names)

    def _max_ahead(self, query: Query) -> int | None:
        """The default of 'watermark.max_ahead'; none if all sinks discard rows."""
        keeps = any(self.connectors[sink.connector].keeps_rows for sink in query.sinks)
        return self.max_ahead if keeps else None

    def _rows(
        self, spark: SparkSession, source: Source, columns: Collection[str]
    ) -> DataFrame | DeferredFrame:
        given = self.sources(spark, source) if self.sources else None
        if given is not None:
            return given
        return rows_of(open_source(self.connectors, spark, source, self.base, columns), columns)

    def _with_checkpoint(self, source: Source, folder: Checkpoint) -> Source:
        if not self.connectors[source.connector].knows_checkpoint:
            return source
        return replace(source, options=(*source.options, (CHECKPOINT, folder.uuid)))

    def open_sink(self, sink: SinkDef) -> Sink:
        if self.sinks:
            return self.sinks(sink)
        return open_sink(self.connectors, sink, self.base)

    def dead_letter_sink(self, source: Source | ReferenceTable, query: Query) -> tuple[str, Sink]:
        """Returns the dead-letter sink of a source or table, with a name that identifies the
        sink."""
        if named := self.job.sink(source.dead_letter or ""):
            return named.name, self._open_side_sink(named, query)
        if self.sinks is not None:
            return "rejected", self.sinks(SinkDef("rejected", "memory"))
        folder = self._folder(query).dead_letters(source.name)
        return str(folder), self.open_sink(checkpoint_sink("rejected", folder))

    def late_sink(self, operator: Operator, query: Query) -> tuple[str, Sink]:
        """Returns the sink of late rows of an operator, with a name that identifies the sink."""
        if named := self.job.sink(operator.late.sink or ""):
            return named.name, self._open_side_sink(named, query)
        if self.sinks is not None:
            return OWN_LATE_SINK, self.sinks(SinkDef("late", "memory"))
        return OWN_LATE_SINK, self.open_sink(checkpoint_sink("late", self._folder(query).late))

    def operators_with_late_sink(self, sink: str) -> Sequence[CompiledOperator]:
        """Returns the operators whose late rows go to a sink, if several queries write to it."""
        return self._late_operators.get(sink, ())

    def writes_malformed(self, source: Source, query: Query) -> bool:
        """Whether a query writes the malformed records of a source that it reads."""
        return self._malformed.get(source.name, query.name) == query.name

    def _open_side_sink(self, sink: SinkDef, query: Query) -> Sink:
        """Opens a sink that other queries may write to, too."""
        opened = self.open_sink(sink)
        return opened.with_label(query.name) if isinstance(opened, SupportsSharing) else opened

    def _folder(self, query: Query) -> Checkpoint:
        return Checkpoint(self.checkpoint.resolve() / query.name)

    def process_available(self) -> None:
        """Waits until every query has processed all available input."""
        for each in self.healthy():
            with (
                self._recording_failure(each.plan),
                each.writer.report_own_error(),
                user_error(self.log),
            ):
                # A trigger that has read its sources just before the call may end the first wait.
                each.query.processAllAvailable()
                each.query.processAllAvailable()
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
        """Ends the input and waits until all rows in state have been emitted."""
        for each in self.healthy():
            end_of_input(each.checkpoint.control)
        self.process_available()
        for each in self.healthy():
            # If a query was stopped meanwhile, its wait has ended and rows are still in state.
            ended = each.engine is Engine.NATIVE or each.ledger_store.ended
            if query_operators(each.plan) and each.query.isActive and ended:
                each.checkpoint.end()
        self._flushed = True
        self.raise_failure()

    def wait(self, seconds: float) -> bool:
        """Waits for the end of all queries, for `seconds` at most. Returns False if one still runs.

        Raises the failure of a query: immediately, or after the others have ended if the job
        continues after a failure.
        """
        until = time.monotonic() + seconds
        while True:
            active = [each for each in self.running if each.query.isActive]
            now = time.monotonic()
            is_due = now - self._last_update >= _UPDATE_SECONDS
            for each in self.running:
                if is_due or each not in active:
                    each.update_ledger()
                if each not in active and (error := each.query.exception()):
                    with self._recording_failure(each.plan):
                        raise each.writer.error or failure(error, self.log)
            self._last_update = now if is_due else self._last_update
            remaining = until - now
            if not active:
                self.raise_failure()
            if not active or remaining <= 0:
                return not active
            time.sleep(min(remaining, _POLL))

    def stop(self) -> None:
        """Stops all queries."""
        for each in self.running:
            # If the JVM has ended, there is nothing to stop and no more counts.
            with suppress(Py4JError, OSError):
                self._record_end(each)
                each.query.stop()
                each.update_ledger()

    def _record_end(self, each: RunningQuery) -> None:
        """Records that a query is stopped before its end, or has failed after another one."""
        name = each.plan.name
        if name in self._stopped or name in self.failures:
            return
        self._stopped.add(name)  # also if the JVM no longer responds
        if not self._flushed and each.query.isActive:
            return
        self._stopped.remove(name)
        if self.failures and (error := each.query.exception()):
            found = each.writer.error or failure(error, self.log)
            self.failures[name] = self._located(found, each.plan)


def _late_operators(queries: Sequence[_Compiled]) -> dict[str, list[CompiledOperator]]:
    """Returns the compiled operators whose late rows go to a sink of several queries, by sink."""
    found: dict[str, list[CompiledOperator]] = {}
    writers: dict[str, set[str]] = {}
    for each in queries:
        operators = zip(query_operators(each.query), each.compiled.operators, strict=False)
        for operator, compiled in operators:
            if operator.late.action is LateAction.SIDE_OUTPUT and (sink := operator.late.sink):
                found.setdefault(sink, []).append(compiled)
                writers.setdefault(sink, set()).add(each.query.name)
    return {sink: given for sink, given in found.items() if len(writers[sink]) > 1}
