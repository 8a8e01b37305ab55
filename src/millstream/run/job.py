"""Runs a job: one streaming query a pipeline, each batch written to its sinks and accounted for."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.files import FileSink
from millstream.connectors.memory import MemorySink
from millstream.connectors.rows import Rows
from millstream.connectors.sinks import Sink, open_sink
from millstream.connectors.sources import read_stream
from millstream.errors import PlanError
from millstream.plan.facts.check import choose_engine
from millstream.plan.facts.mentioned import mentioned
from millstream.plan.nodes import (
    Aggregate,
    Engine,
    Job,
    Operator,
    Pipeline,
    Reference,
    SinkDef,
    Source,
)
from millstream.plan.walk import (
    operators_of,
    references_of,
    retracts,
    sources_of,
    table_joins_of,
)
from millstream.run.checkpoint import Checkpoint
from millstream.run.failures import failure, user_error
from millstream.run.running import Running
from millstream.run.tables import FOLDER as TABLES
from millstream.run.tables import JobTables
from millstream.run.tally import Tally
from millstream.run.writer import Writer
from millstream.spark.compile import compile_pipeline
from millstream.spark.control import end_of_input, tick
from millstream.spark.session import for_native, partitions

GROUPS_PER_PARTITION = 1


_POLL = 0.05
_LISTEN = 1.0  # seconds between two looks at what Spark reports


def clock_spans(pipeline: Pipeline) -> list[int]:
    """The spans of wall-clock time that a pipeline waits for: silences and windows of the clock."""
    silences = [source.idle for source in sources_of(pipeline.root) if source.idle is not None]
    windows = [
        operator.window.size
        for operator in operators_of(pipeline.root)
        if isinstance(operator, Aggregate) and operator.window and operator.window.wall_clock
    ]
    return silences + windows


@dataclass(slots=True)
class JobRun:
    """A job on a Spark. `sources` and `sinks` open what a definition says; tests give their own."""

    spark: SparkSession
    job: Job
    checkpoint: Path
    base: Path
    sources: Callable[[SparkSession, Source], DataFrame] | None = None
    sinks: Callable[[SinkDef], Sink] | None = None
    groups: int | None = None
    log: Path | None = None
    read_table: Callable[[Reference], pa.Table] | None = None
    tables: JobTables = field(init=False)
    running: list[Running] = field(default_factory=list)
    _listened: float = 0.0

    def __post_init__(self) -> None:
        folder = self.checkpoint.resolve() / TABLES
        self.tables = JobTables(self.spark, folder, self.base, self.read_table)

    def start(self, trigger: Mapping[str, object]) -> None:
        """Start every pipeline; `trigger` is what Spark's `DataStreamWriter.trigger` takes."""
        for table in references_of(self.job):
            with user_error(self.log):
                self.tables.open(table, steady=self._over_changes(table))
        for pipeline in self.job.pipelines:
            with user_error(self.log):
                self.running.append(self._start(pipeline, trigger))

    def _over_changes(self, table: Reference) -> bool:
        return any(
            join.table == table and retracts(join.left.node)
            for pipeline in self.job.pipelines
            for join in table_joins_of(pipeline.root)
        )

    def _start(self, pipeline: Pipeline, trigger: Mapping[str, object]) -> Running:
        engine, _ = choose_engine(pipeline)
        spark = for_native(self.spark) if engine is Engine.NATIVE else self.spark
        folder = self._folder(pipeline)
        wanted = self.groups or GROUPS_PER_PARTITION * partitions(spark)
        groups = folder.open(pipeline, wanted)
        first = folder.next_batch
        sources = {
            source.name: self._rows(spark, source, mentioned(pipeline.root, source))
            for source in sources_of(pipeline.root)
        }
        query = compile_pipeline(
            spark,
            pipeline,
            sources,
            engine=engine,
            groups=groups,
            control=str(folder.control),
            tables=self.tables,
        )
        tally = Tally.open(pipeline, folder.account)
        writer = Writer(self, spark, pipeline, query, tally, self.log)
        writer.open(sources)
        started = writer.start(trigger, folder.spark)
        return Running(pipeline, engine, started, tally, folder, writer, first)

    def _rows(
        self, spark: SparkSession, source: Source, columns: Collection[str]
    ) -> DataFrame | Rows:
        if self.sources:
            return self.sources(spark, source)
        try:
            return read_stream(spark, source, self.base, columns)
        except KeyError:
            raise PlanError(
                "MS-PLAN-NOT-YET",
                f"the source {source.name} cannot be run: nothing here reads '{source.connector}'.",
                place=source.place,
            ) from None

    def open_sink(self, sink: SinkDef) -> Sink:
        if self.sinks:
            return self.sinks(sink)
        opened = open_sink(sink, self.base)
        if isinstance(opened, MemorySink):
            raise PlanError(
                "MS-PLAN-NO-SINK",
                f"rows of the sink {sink.name} would go nowhere: nothing here writes to "
                f"'{sink.connector}'.",
                fix="Give it a 'connector': 'file' with a 'path', or 'console' to look at rows.",
                place=sink.place,
            )
        return opened

    def dead_letter_sink(self, source: Source | Reference, pipeline: Pipeline) -> tuple[str, Sink]:
        """Where malformed records of a source go, or rows that a table could not be asked for, and
        a name that is one for one sink."""
        if named := self.job.sink(source.dead_letter or ""):
            return named.name, self.open_sink(named)
        if self.sinks is not None:
            return "rejected", self.sinks(SinkDef("rejected", "memory"))
        folder = self._folder(pipeline).dead_letters(source.name)
        return str(folder), FileSink(str(folder), "json")

    def late_sink(self, operator: Operator, pipeline: Pipeline) -> tuple[str, Sink]:
        """Where late rows of an operator go, and a name that is one for one sink."""
        if named := self.job.sink(operator.late.sink or ""):
            return named.name, self.open_sink(named)
        if self.sinks is not None:
            return "late", self.sinks(SinkDef("late", "memory"))
        return "late", FileSink(str(self._folder(pipeline).late), "json")

    def _folder(self, pipeline: Pipeline) -> Checkpoint:
        return Checkpoint(self.checkpoint.resolve() / pipeline.name)

    def process_available(self) -> None:
        """Wait until every pipeline has taken in all that its sources hold now."""
        for each in self.running:
            with each.writer.own_error(), user_error(self.log):
                # A trigger that looked at its sources just before the call may end the first wait.
                each.query.processAllAvailable()
                each.query.processAllAvailable()
            each.hear()

    def tell_time(self, now: int) -> None:
        """Say what time it is, in microseconds, to pipelines that go by it."""
        for each in self.running:
            if clock_spans(each.pipeline):
                tick(each.checkpoint.control, now)

    def flush(self) -> None:
        """Say that the input has ended and wait until all that was held has come out."""
        for each in self.running:
            end_of_input(each.checkpoint.control)
        self.process_available()
        for each in self.running:
            # A query that was stopped meanwhile has let its wait end, and rows are still held.
            ended = each.engine is Engine.NATIVE or each.tally.ended
            if operators_of(each.pipeline.root) and each.query.isActive and ended:
                each.checkpoint.end()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of all pipelines, at most so long; False if one still runs.

        A pipeline that fails is told of at once, though others run on.
        """
        until = time.monotonic() + seconds
        while True:
            active = [each for each in self.running if each.query.isActive]
            now = time.monotonic()
            listens = now - self._listened >= _LISTEN
            for each in self.running:
                if listens or each not in active:
                    each.hear()
                if each not in active and (error := each.query.exception()):
                    raise each.writer.error or failure(error, self.log)
            self._listened = now if listens else self._listened
            left = until - now
            if not active or left <= 0:
                return not active
            time.sleep(min(left, _POLL))

    def stop(self) -> None:
        for each in self.running:
            each.query.stop()
            each.hear()
