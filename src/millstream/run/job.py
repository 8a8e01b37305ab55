"""Runs a job: one streaming query a pipeline, each batch written to its sinks and accounted for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from millstream.connectors.files import FileSink
from millstream.connectors.sinks import Sink, open_sink
from millstream.connectors.sources import read_stream
from millstream.plan.check import choose_engine
from millstream.plan.nodes import Engine, Job, Pipeline, SinkDef, Source
from millstream.plan.walk import joins_of, sources_of
from millstream.run.checkpoint import Checkpoint
from millstream.run.failures import user_error
from millstream.run.tally import Tally
from millstream.spark.compile import Query, compile_pipeline
from millstream.spark.control import end_of_input
from millstream.spark.ports import SideRows
from millstream.spark.session import for_native, partitions
from millstream.temporal import LateAction

GROUPS_PER_PARTITION = 1


@dataclass(slots=True)
class Running:
    """One pipeline that runs."""

    pipeline: Pipeline
    engine: Engine
    query: StreamingQuery
    tally: Tally
    checkpoint: Checkpoint


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
    running: list[Running] = field(default_factory=list)

    def start(self, trigger: Mapping[str, object]) -> None:
        """Start every pipeline; `trigger` is what Spark's `DataStreamWriter.trigger` takes."""
        for pipeline in self.job.pipelines:
            self.running.append(self._start(pipeline, trigger))

    def _start(self, pipeline: Pipeline, trigger: Mapping[str, object]) -> Running:
        engine, _ = choose_engine(pipeline)
        spark = for_native(self.spark) if engine is Engine.NATIVE else self.spark
        folder = Checkpoint(self.checkpoint / pipeline.name)
        wanted = self.groups or GROUPS_PER_PARTITION * partitions(spark)
        groups = folder.open(pipeline, wanted)
        sources = {
            source.name: self._frame(spark, source) for source in sources_of(pipeline.root)
        }
        query = compile_pipeline(
            spark, pipeline, sources, engine=engine, groups=groups, control=str(folder.control)
        )
        tally = Tally.open(pipeline, folder.account)
        writer = _Writer(self, spark, pipeline, query, tally)
        started = (
            query.stream.writeStream.queryName(pipeline.name)
            .foreachBatch(writer.write)
            .outputMode("append")
            .option("checkpointLocation", str(folder.spark))
            .trigger(**trigger)  # type: ignore[arg-type]
            .start()
        )
        return Running(pipeline, engine, started, tally, folder)

    def _frame(self, spark: SparkSession, source: Source) -> DataFrame:
        return self.sources(spark, source) if self.sources else read_stream(spark, source, self.base)

    def open_sink(self, sink: SinkDef) -> Sink:
        return self.sinks(sink) if self.sinks else open_sink(sink, self.base)

    def dead_letter_sink(self, source: Source) -> Sink:
        named = self.job.sink(source.dead_letter) if source.dead_letter else None
        if named is not None:
            return self.open_sink(named)
        if self.sinks is not None:
            return self.sinks(SinkDef("rejected", "memory"))
        return FileSink(str(self.checkpoint.resolve() / "dead-letter" / source.name), "json")

    def process_available(self) -> None:
        """Wait until every pipeline has taken in all that its sources hold now."""
        for each in self.running:
            with user_error():
                # A trigger that looked at its sources just before the call may end the first wait.
                each.query.processAllAvailable()
                each.query.processAllAvailable()

    def flush(self) -> None:
        """Say that the input has ended and wait until all that was held has come out."""
        for each in self.running:
            end_of_input(each.checkpoint.control)
        self.process_available()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of all pipelines, at most so long; False if one still runs."""
        for each in self.running:
            with user_error():
                if not each.query.awaitTermination(seconds):
                    return False
        return True

    def stop(self) -> None:
        for each in self.running:
            each.query.stop()


@dataclass(slots=True)
class _Writer:
    """Writes the micro-batches of one pipeline, each exactly once."""

    run: JobRun
    spark: SparkSession
    pipeline: Pipeline
    query: Query
    tally: Tally
    _opened: dict[str, Sink] = field(default_factory=dict)

    def write(self, frame: DataFrame, batch: int) -> None:
        caught = self.query.batch(frame)
        counted = Observation()
        rows = caught.main.observe(counted, F.count(F.lit(1)).alias("rows"))
        self._sink("main", lambda: self.run.open_sink(self.pipeline.sink)).write(rows, batch)
        side = caught.side()
        self._write_rejected(side, batch)
        self._write_late(side, batch)
        self.tally.add(batch, side.stats, counted.get["rows"])

    def _sink(self, key: str, opened: Callable[[], Sink]) -> Sink:
        if key not in self._opened:
            self._opened[key] = opened()
        return self._opened[key]

    def _write_rejected(self, side: SideRows, batch: int) -> None:
        for source in sources_of(self.pipeline.root):
            tables = [
                table for table in side.rejected if table["_source"][0].as_py() == source.name
            ]
            if tables:
                sink = self._sink(
                    f"rejected {source.name}", lambda source=source: self.run.dead_letter_sink(source)
                )
                sink.write(self.spark.createDataFrame(pa.concat_tables(tables)), batch)

    def _write_late(self, side: SideRows, batch: int) -> None:
        joins = joins_of(self.pipeline.root)
        if not joins or joins[0].late.action is not LateAction.SIDE_OUTPUT or not self.query.late:
            return
        frames: list[DataFrame] = []
        for number in (0, 1):
            tables = [table for source, table in side.late if source == number]
            if tables:
                frames.append(self.query.late(number, self.spark, tables))
        if frames:
            named = self.run.job.sink(joins[0].late.sink or "") or SinkDef("late", "memory")
            sink = self._sink("late", lambda: self.run.open_sink(named))
            sink.write(_union(frames), batch)


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    """Rows of several sources in one table: the union of their columns."""
    first, *others = frames
    for frame in others:
        first = first.unionByName(frame, allowMissingColumns=True)
    return first
