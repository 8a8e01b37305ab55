"""Writes the micro-batches of one pipeline, each once: main rows, then what rode with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.connectors.rows import Rows
from millstream.connectors.sinks import NoopSink, Sink
from millstream.errors import MillstreamError, RunError
from millstream.plan.nodes import Lookup, OnError, Operator, Pipeline, Reference, SinkDef, Source
from millstream.plan.walk import inputs_of, operators_of, references_of, sources_of
from millstream.run.failures import failure
from millstream.run.tally import Tally
from millstream.spark.compile import Query
from millstream.spark.packets import BAD
from millstream.spark.ports import CAUGHT, SideRows
from millstream.spark.stateless import source_of
from millstream.temporal import LateAction, Malformed


class Opener(Protocol):
    """Opens the sinks of a job."""

    def open_sink(self, sink: SinkDef) -> Sink: ...
    def dead_letter_sink(
        self, source: Source | Reference, pipeline: Pipeline
    ) -> tuple[str, Sink]: ...
    def late_sink(self, operator: Operator, pipeline: Pipeline) -> tuple[str, Sink]: ...


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
    _late: dict[int, tuple[str, Sink]] = field(default_factory=dict)  # by operator
    _first_read: dict[str, tuple[int, int]] = field(default_factory=dict)  # of a source
    _dead_letters: dict[str, tuple[str, Sink]] = field(default_factory=dict)  # by source
    _rejecting: bool = False  # may rows come that go to dead letters?

    def open(self, sources: Mapping[str, DataFrame | Rows]) -> None:
        """Open all sinks, so that one which cannot be is told of before anything runs."""
        self._rejecting = any(
            BAD in sources[source.name].schema.names and source.malformed is Malformed.DEAD_LETTER
            for source in sources_of(self.pipeline.root)
        )
        self._main = self.run.open_sink(self.pipeline.sink)
        for number, operator in enumerate(operators_of(self.pipeline.root)):
            if operator.late.action is LateAction.SIDE_OUTPUT:
                self._late[number] = self.run.late_sink(operator, self.pipeline)
            for place, side in enumerate(inputs_of(operator)):
                if source := source_of(side.node):
                    self._first_read.setdefault(source.name, (number, place))
        for source in sources_of(self.pipeline.root):
            self._dead_letters[source.name] = self.run.dead_letter_sink(source, self.pipeline)
        for table in references_of(self.pipeline.root):
            if isinstance(table.access, Lookup) and table.access.on_error is OnError.SIDE_OUTPUT:
                self._dead_letters[table.name] = self.run.dead_letter_sink(table, self.pipeline)
                self._rejecting = True

    @property
    def direct(self) -> bool:
        """Does Spark itself write the rows? Only if no others ride with them, and to a sink that
        keeps none: rows that it wrote could not be told from those of a batch's first try."""
        return isinstance(self._main, NoopSink) and not self._late and not self._rejecting

    def start(self, trigger: Mapping[str, object], checkpoint: Path) -> StreamingQuery:
        """Start the query; `trigger` is what Spark's `DataStreamWriter.trigger` takes."""
        if self.direct:
            stream = self.query.reading.streamed(self.query.stream).writeStream.format("noop")
        else:
            stream = self.query.stream.writeStream.foreachBatch(self.write)
        named = stream.queryName(self.pipeline.name).outputMode("append")
        placed = named.option("checkpointLocation", str(checkpoint))
        return placed.trigger(**trigger).start()  # type: ignore[call-overload,no-any-return]

    def hear(self, batch: int, caught: Mapping[str, Any]) -> None:
        """Take in what Spark says of a batch that it has written."""
        if CAUGHT in caught:
            side, rows = self.query.reading.heard(caught[CAUGHT].asDict())
            self.tally.add(batch, side.stats, rows, side.tables)

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
        caught = self.query.reading.batch(frame)
        self._main.write(caught.main, batch)
        side = caught.side()
        self._write_rejected(side, batch)
        self._write_late(side, batch)
        self.tally.add(batch, side.stats, caught.count(), side.tables)

    def _write_rejected(self, side: SideRows, batch: int) -> None:
        """One write a sink and batch: a second one would replace the first."""
        tables: dict[str, list[pa.Table]] = {}
        for origin, table in side.rejected:
            source = table["_source"][0].as_py()
            if origin != self._first_read.get(source, origin):
                continue  # a source that a query names twice is read twice
            tables.setdefault(self._dead_letters[source][0], []).append(table)
        for name, sink in dict(self._dead_letters.values()).items():
            if name in tables:
                sink.write(self.spark.createDataFrame(pa.concat_tables(tables[name])), batch)

    def _write_late(self, side: SideRows, batch: int) -> None:
        frames: dict[str, DataFrame] = {}
        for number, (name, _) in self._late.items():
            found = [(place, table) for (operator, place), table in side.late if operator == number]
            if found:
                rows = self.query.operators[number].late_rows(self.spark, found)
                held = frames.get(name)
                frames[name] = held.unionByName(rows, allowMissingColumns=True) if held else rows
        for name, sink in dict(self._late.values()).items():
            if name in frames:
                sink.write(frames[name], batch)
