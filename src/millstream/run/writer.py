"""Writes the micro-batches of one pipeline, each once: main rows, then what rode with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from millstream.connectors.sinks import Sink
from millstream.errors import MillstreamError, RunError
from millstream.plan.nodes import IntervalJoin, Pipeline, SinkDef, Source
from millstream.plan.walk import joins_of, sources_of
from millstream.run.failures import failure
from millstream.run.tally import Tally
from millstream.spark.compile import Query
from millstream.spark.ports import SideRows
from millstream.temporal import LateAction


class Opener(Protocol):
    """Opens the sinks of a job."""

    def open_sink(self, sink: SinkDef) -> Sink: ...
    def dead_letter_sink(self, source: Source, pipeline: Pipeline) -> tuple[str, Sink]: ...
    def late_sink(self, join: IntervalJoin, pipeline: Pipeline) -> Sink: ...


@dataclass(slots=True)
class Writer:
    run: Opener
    spark: SparkSession
    pipeline: Pipeline
    query: Query
    tally: Tally
    log: Path | None = None
    error: MillstreamError | None = None
    _main: Sink | None = None
    _late: Sink | None = None
    _dead_letters: dict[str, tuple[str, Sink]] = field(default_factory=dict)  # by source

    def open(self) -> None:
        """Open all sinks, so that one which cannot be is told of before anything runs."""
        self._main = self.run.open_sink(self.pipeline.sink)
        for join in joins_of(self.pipeline.root):
            if join.late.action is LateAction.SIDE_OUTPUT:
                self._late = self.run.late_sink(join, self.pipeline)
        for source in sources_of(self.pipeline.root):
            self._dead_letters[source.name] = self.run.dead_letter_sink(source, self.pipeline)

    def write(self, frame: DataFrame, batch: int) -> None:
        try:
            self._write(frame, batch)
        except OSError as error:
            self.error = RunError(
                "MS-RUN-SINK",
                f"a sink of {self.pipeline.name} could not be written: {error}.",
                fix="Mend that and run again: the batch is then written anew.",
            )
            raise
        except (MillstreamError, PySparkException) as error:
            # On its way back through Spark it would be wrapped in texts of Spark's.
            self.error = failure(error, self.log)
            raise

    @contextmanager
    def own_error(self) -> Iterator[None]:
        """What this writer itself found wrong is said in its own words."""
        try:
            yield
        except MillstreamError as error:
            raise self.error or error from error

    def _write(self, frame: DataFrame, batch: int) -> None:
        assert self._main is not None
        caught = self.query.batch(frame)
        counted = Observation()
        rows = caught.main.observe(counted, F.count(F.lit(1)).alias("rows"))
        self._main.write(rows, batch)
        side = caught.side()
        self._write_rejected(side, batch)
        self._write_late(side, batch)
        self.tally.add(batch, side.stats, counted.get["rows"])

    def _write_rejected(self, side: SideRows, batch: int) -> None:
        """One write a sink and batch: a second one would replace the first."""
        tables: dict[str, list[pa.Table]] = {}
        for number, table in side.rejected:
            source = table["_source"][0].as_py()
            if number and source == sources_of(self.pipeline.root)[0].name:
                continue  # a source that is joined to itself is read twice
            tables.setdefault(self._dead_letters[source][0], []).append(table)
        for name, sink in dict(self._dead_letters.values()).items():
            if name in tables:
                sink.write(self.spark.createDataFrame(pa.concat_tables(tables[name])), batch)

    def _write_late(self, side: SideRows, batch: int) -> None:
        if self._late is None or self.query.late is None:
            return
        if side.late:
            self._late.write(self.query.late(self.spark, side.late), batch)
