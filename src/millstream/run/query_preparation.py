"""Prepares the queries of a job: compiles them, which Spark's analyzer verifies, and opens their
sinks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.registry import open_source
from millstream.connectors.sink import Sink
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.query import CompiledQuery, compile_query
from millstream.engine.compile.scan_rows import rows_of
from millstream.engine.runtime.session import native_session, partitions
from millstream.engine.shuffle.control_stream import announce_partitions
from millstream.plan.build.query_groups import choose_query_engine
from millstream.plan.connectors import CHECKPOINT, ConnectorRegistry
from millstream.plan.facts.output_groups import query_operators, query_sources
from millstream.plan.facts.side_outputs import queries_with_dead_letters
from millstream.plan.facts.used_columns import used_columns
from millstream.plan.nodes import Engine, Job, Query, SinkDef, Source
from millstream.run.checkpoint import Checkpoint
from millstream.run.file_log import FileLog
from millstream.run.given_sources import with_system_columns
from millstream.run.job_sinks import JobSinks
from millstream.run.ledger_store import LedgerStore
from millstream.run.malformed_writers import record_malformed_writers
from millstream.run.query import RunningQuery
from millstream.run.query_writer import QueryWriter, sink_columns
from millstream.run.state_limits import StateLimits
from millstream.run.tables import JobTables
from millstream.temporal import LateAction

GROUPS_PER_PARTITION = 1


@dataclass(frozen=True, slots=True)
class QueryToOpen:
    """A compiled query whose sinks are not open yet."""

    spark: SparkSession
    plan: Query
    engine: Engine
    checkpoint: Checkpoint
    first_batch: int
    sources: Mapping[str, DataFrame | DeferredFrame]
    main_sinks: Mapping[str, Sink]
    compiled: CompiledQuery


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A compiled query whose sinks are open."""

    plan: Query
    engine: Engine
    ledger_store: LedgerStore
    checkpoint: Checkpoint
    writer: QueryWriter
    first_batch: int

    def start(self, trigger: Mapping[str, object]) -> RunningQuery:
        return RunningQuery(
            self.plan,
            self.engine,
            self.writer.start(trigger),
            self.ledger_store,
            self.checkpoint,
            self.writer,
            self.first_batch,
        )


@dataclass(slots=True)
class QueryPreparation:
    """Prepares the queries of one job."""

    spark: SparkSession
    job: Job
    queries: tuple[Query, ...]
    checkpoint: Path
    base: Path
    connectors: ConnectorRegistry
    tables: JobTables
    warn: Callable[[str], None]
    given_sources: Callable[[SparkSession, Source], DataFrame | None] | None = None
    given_sinks: Callable[[SinkDef], Sink] | None = None
    groups: int | None = None
    log: Path | None = None
    max_ahead: int | None = None  # default of sources
    _sinks: JobSinks = field(init=False)

    def __post_init__(self) -> None:
        self._sinks = JobSinks(
            self.job, self.checkpoint, self.base, self.connectors, self.given_sinks
        )

    def compile(self, query: Query) -> QueryToOpen:
        engine, _ = choose_query_engine(query)
        spark = native_session(self.spark) if engine is Engine.NATIVE else self.spark
        checkpoint = Checkpoint(self.checkpoint / query.name)
        wanted = self.groups or GROUPS_PER_PARTITION * partitions(spark)
        groups = checkpoint.open(query, wanted, self.job.sinks)
        FileLog(checkpoint.spark).remove_unplanned()
        first_batch = checkpoint.next_batch
        sources = {
            source.name: self._rows(
                spark,
                self._with_checkpoint(source, checkpoint),
                self._columns_of(query, source),
                checkpoint.source_state(source.name),
            )
            for source in query_sources(query)
        }
        for name, rows in sources.items():
            if isinstance(rows, DeferredFrame) and rows.origin is not None:
                announce_partitions(checkpoint.control, name, rows.origin.partitions or ())
        sinks = {sink.name: self._sinks.open_sink(sink) for sink in query.sinks}
        compiled = compile_query(
            spark,
            query,
            sources,
            engine=engine,
            groups=groups,
            control=str(checkpoint.control),
            tables=self.tables,
            max_ahead=self._max_ahead(query),
            sends_allowances=True,
            project=lambda output, schema: sink_columns(spark, sinks[output.sink.name], schema),
        )
        return QueryToOpen(spark, query, engine, checkpoint, first_batch, sources, sinks, compiled)

    def choose_side_output_writers(self, queries: Sequence[QueryToOpen]) -> None:
        """Decides which query writes what to sinks of late rows and dead letters that several
        queries share. Called once, when all queries are compiled."""
        self._sinks.late_operators = _shared_late_operators(queries)
        self._sinks.malformed_writers = record_malformed_writers(self.checkpoint, self.queries)

    def open(self, query: QueryToOpen) -> PreparedQuery:
        ledger_store = LedgerStore.open(query.plan, query.checkpoint.ledger, query.first_batch)
        writer = QueryWriter(
            self._sinks,
            query.spark,
            query.plan,
            query.compiled,
            query.main_sinks,
            ledger_store,
            StateLimits.of(query.plan, query.checkpoint.control),
            query.checkpoint,
            self.warn,
            self.log,
        )
        writer.open(query.sources)
        return PreparedQuery(
            query.plan, query.engine, ledger_store, query.checkpoint, writer, query.first_batch
        )

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
        self, spark: SparkSession, source: Source, columns: Collection[str], state: Path
    ) -> DataFrame | DeferredFrame:
        given = self.given_sources(spark, source) if self.given_sources else None
        if given is not None:
            return with_system_columns(given, source)
        opened = open_source(self.connectors, spark, source, self.base, columns, state)
        return rows_of(opened, columns)

    def _with_checkpoint(self, source: Source, checkpoint: Checkpoint) -> Source:
        """Adds the identifier of the checkpoint, if the connector uses it."""
        if not self.connectors[source.connector].knows_checkpoint:
            return source
        return replace(source, options=(*source.options, (CHECKPOINT, checkpoint.uuid)))


def _shared_late_operators(queries: Sequence[QueryToOpen]) -> dict[str, list[CompiledOperator]]:
    """Returns the compiled operators whose late rows go to a sink of several queries, by sink."""
    found: dict[str, list[CompiledOperator]] = {}
    writers: dict[str, set[str]] = {}
    for each in queries:
        operators = zip(query_operators(each.plan), each.compiled.operators, strict=False)
        for operator, compiled in operators:
            if operator.late.action is LateAction.SIDE_OUTPUT and (sink := operator.late.sink):
                found.setdefault(sink, []).append(compiled)
                writers.setdefault(sink, set()).add(each.plan.name)
    return {sink: given for sink, given in found.items() if len(writers[sink]) > 1}
