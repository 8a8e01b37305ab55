"""Writes the micro-batches of one pipeline, each once: main rows, then what rode with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.connectors.dead_letters import AHEAD_OF_TIME
from millstream.connectors.file.source import FileStream
from millstream.connectors.files import FileSink
from millstream.connectors.rows import Rows
from millstream.connectors.sinks import NoopSink, Sink
from millstream.errors import MillstreamError, RunError
from millstream.observe.account import dead_letters_of, late_rows_in
from millstream.plan.nodes import Operator, Pipeline, Reference, SinkDef, Source
from millstream.plan.walk import inputs_of, operators_of, references_of, sources_of
from millstream.run.failures import failure
from millstream.run.file_log import FileLog
from millstream.run.missing_files import MissingFiles, ReadSource
from millstream.run.state_limits import StateLimits
from millstream.run.tally import Tally
from millstream.spark.compile import Query
from millstream.spark.packets import BAD
from millstream.spark.ports import CAUGHT, SideRows
from millstream.spark.stateless import source_of
from millstream.temporal import LateAction, Malformed
from millstream.values import Lookup, OnError


class Opener(Protocol):
    """Opens the sinks of a job."""

    def open_sink(self, sink: SinkDef) -> Sink: ...
    def dead_letter_sink(
        self, source: Source | Reference, pipeline: Pipeline
    ) -> tuple[str, Sink]: ...
    def late_sink(self, operator: Operator, pipeline: Pipeline) -> tuple[str, Sink]: ...
    def warn(self, text: str) -> None: ...


@dataclass(slots=True)
class Writer:
    run: Opener
    spark: SparkSession
    pipeline: Pipeline
    query: Query
    tally: Tally
    limits: StateLimits
    log: Path | None = None
    error: MillstreamError | None = None
    _main: Sink | None = None
    _late: dict[int, tuple[str, Sink]] = field(default_factory=dict)  # by operator
    _first_read: dict[str, tuple[int, int]] = field(default_factory=dict)  # of a source
    _dead_letters: dict[str, tuple[str, Sink]] = field(default_factory=dict)  # by source
    _streams: dict[str, FileStream] = field(default_factory=dict)  # by source
    _missing: MissingFiles | None = None
    _rejecting: bool = False  # may rows come that go to dead letters?
    _warned: set[str] = field(default_factory=set)  # sources with a row ahead of time

    def open(self, sources: Mapping[str, DataFrame | Rows]) -> None:
        """Open all sinks, so that one which cannot be is told of before anything runs."""
        self._rejecting = any(
            BAD in sources[source.name].schema.names and source.malformed is Malformed.DEAD_LETTER
            for source in sources_of(self.pipeline.root)
        )
        self._rejecting = self._rejecting or bool(self.query.limits)
        self._streams = {
            name: rows.origin
            for name, rows in sources.items()
            if isinstance(rows, Rows) and isinstance(rows.origin, FileStream)
        }
        self._main = self.run.open_sink(self.pipeline.sink)
        if isinstance(self._main, FileSink):
            self._main.check(lambda: self.query.reading.rows(self.query.stream))
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
        only_rows = not self._late and not self._rejecting and not self.limits.limited
        return isinstance(self._main, NoopSink) and only_rows

    def start(self, trigger: Mapping[str, object], checkpoint: Path) -> StreamingQuery:
        """Start the query; `trigger` is what Spark's `DataStreamWriter.trigger` takes."""
        streams = ((each, self._streams.get(each.name)) for each in sources_of(self.pipeline.root))
        read = [ReadSource(each, it.files.base, it.reported) for each, it in streams if it]
        self._missing = MissingFiles(FileLog(checkpoint), tuple(read)) if read else None
        if self.direct:
            stream = self.query.reading.streamed(self.query.stream).writeStream.format("noop")
        else:
            stream = self.query.stream.writeStream.foreachBatch(self.write)
        named = stream.queryName(self.pipeline.name).outputMode("append")
        placed = named.option("checkpointLocation", str(checkpoint))
        return placed.trigger(**trigger).start()  # type: ignore[call-overload,no-any-return]

    def hear(self, batch: int, caught: Mapping[str, Any]) -> None:
        """Add Spark's report of a batch that it has written to the ledger."""
        if CAUGHT not in caught:  # Spark reports nothing of a batch that it finds empty
            self.tally.add(batch, [], 0)
            return
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
        except (MillstreamError, PySparkException, Py4JJavaError) as error:
            # On its way back through Spark it would be wrapped in texts of Spark's.
            self.error = failure(error, self.log)
            if isinstance(error, MillstreamError):
                error.annotate()
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
        if self._missing is not None:
            self._missing.begin(self.spark, self.pipeline.name)
        if self.limits.limited and isinstance(self._main, FileSink):
            self._main.write(caught.main, batch, lambda: self.limits.check(caught.side().stats))
        else:
            self._main.write(caught.main, batch)
        side = caught.side()
        self.limits.check(side.stats)
        self._add_missing_files(side, batch)
        written = self._write_rejected(side, batch) + self._write_late(side, batch)
        self.tally.add(batch, side.stats, caught.count(), side.tables, written)
        self.limits.distribute(batch, side.stats)

    def _add_missing_files(self, side: SideRows, batch: int) -> None:
        for table in self._missing.dead_letters(batch) if self._missing is not None else ():
            source = table["_source"][0].as_py()
            side.rejected.append((self._first_read.get(source, (0, 0)), table))
            name = self._dead_letters[source][0]
            self.run.warn(
                f"source {source}: files that could not be read: {table.num_rows}, first "
                f"{table['_file'][0].as_py()}: {table['_message'][0].as_py()} "
                f"See the dead-letter queue in {name}."
            )

    def _write_rejected(self, side: SideRows, batch: int) -> Counter[str]:
        """Returns how many rows of each source or table were written. A sink is written once a
        batch: a second write would replace the first."""
        written: Counter[str] = Counter()
        tables: dict[str, list[pa.Table]] = {}
        for origin, table in side.rejected:
            source = table["_source"][0].as_py()
            if origin != self._first_read.get(source, origin):
                continue  # a source that a query names twice is read twice
            tables.setdefault(self._dead_letters[source][0], []).append(table)
            written[dead_letters_of(source)] += table.num_rows
            self._warn_ahead(source, table)
        for name, sink in dict(self._dead_letters.values()).items():
            if name in tables:
                sink.write(self.spark.createDataFrame(pa.concat_tables(tables[name])), batch)
        return written

    def _warn_ahead(self, source: str, table: pa.Table) -> None:
        """One warning a source and run, with the first of the rows."""
        found = table.filter(pc.equal(table["_reason"], AHEAD_OF_TIME))
        if found.num_rows == 0 or source in self._warned:
            return
        self._warned.add(source)
        name = self._dead_letters[source][0]
        self.run.warn(
            f"source {source} has rows ahead of time, which go to the dead-letter queue in {name}: "
            f"{found['_message'][0].as_py()} See 'watermark.max_ahead'."
        )

    def _write_late(self, side: SideRows, batch: int) -> Counter[str]:
        """Returns how many rows were written to each sink. A sink has the columns of all operators
        that write to it, whichever has late rows."""
        found: dict[int, list[tuple[int, pa.Table]]] = {}
        for (operator, place), table in side.late:
            if operator in self._late:
                found.setdefault(operator, []).append((place, table))
        written: Counter[str] = Counter()
        for operator, parts in found.items():
            written[self._late[operator][0]] += sum(table.num_rows for _, table in parts)
        frames: dict[str, DataFrame] = {}
        for number, (name, _) in self._late.items():
            if name in written:
                rows = self.query.operators[number].late_rows(self.spark, found.get(number, []))
                held = frames.get(name)
                frames[name] = held.unionByName(rows, allowMissingColumns=True) if held else rows
        for name, sink in dict(self._late.values()).items():
            if name in frames:
                sink.write(frames[name], batch)
        return Counter({late_rows_in(name): count for name, count in written.items()})
