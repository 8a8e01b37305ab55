"""A random pipeline on Spark: rows in memory, micro-batches as the case says, restarts between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from tests.fuzz.streams import DDL, Data, Row

from millstream.connectors.memory import MemorySink, MemoryStream
from millstream.connectors.sink import Sink
from millstream.plan.nodes import Engine, Job, ReferenceTable, SinkDef, Source
from millstream.run.job import JobRun


@dataclass(slots=True)
class OnSpark:
    spark: SparkSession
    job: Job
    data: Data
    table: Sequence[Row] = ()
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="millstream-fuzz-")))
    streams: dict[str, MemoryStream] = field(default_factory=dict)
    sink: MemorySink = field(default_factory=MemorySink)

    def run(self, restarts: Sequence[int] = ()) -> tuple[list[Row], list[str]]:
        """The emitted rows, and the errors of the ledger. The job is
        stopped and started again after each micro-batch in `restarts`."""
        stops = [*sorted(set(restarts)), self.data.count]
        errors: list[str] = []
        first = 0
        try:
            for stop in stops:
                run = JobRun(
                    self.spark,
                    self.job,
                    self.folder / "checkpoint",
                    self.folder,
                    sources=self._source,
                    sinks=self._sink,
                    groups=3,
                    read_table=self._table,
                )
                try:
                    for name in self.data.batches:
                        self._add(name, first, stop)
                    run.start({"processingTime": "0 seconds"})
                    run.process_available()
                    if stop == self.data.count:
                        run.flush()
                finally:
                    run.stop()
                first = stop
                errors = [
                    error
                    for each in run.running
                    if each.engine is Engine.COLUMNAR
                    for error in each.ledger_store.ledger.errors
                ]
            return self.sink.rows(), errors
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _stream(self, name: str) -> MemoryStream:
        if name not in self.streams:
            self.streams[name] = MemoryStream(self.spark, DDL, self.folder / "in" / name)
        return self.streams[name]

    def _add(self, name: str, first: int, stop: int) -> None:
        for batch in self.data.batches[name][first:stop]:
            self._stream(name).add(batch)

    def _source(self, _: SparkSession, source: Source) -> DataFrame:
        return self._stream(source.name).frame()

    def _sink(self, sink: SinkDef) -> Sink:
        """Each output has its own: an output without rows would replace those of another."""
        is_main = any(pipeline.sink.name == sink.name for pipeline in self.job.pipelines)
        return self.sink if is_main else MemorySink()

    def _table(self, _: ReferenceTable) -> pa.Table:
        return pa.Table.from_pylist(list(self.table), self._stream("a")._arrow)
