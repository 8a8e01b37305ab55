"""Writes the micro-batches of one query, each once, to the sinks of all its outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from millstream.connectors.dead_letters import BAD, DEAD_LETTER
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.sink import (
    BatchId,
    Sink,
    SparkSink,
    SupportsColumnCheck,
    SupportsProjection,
    SupportsSideOutputCheck,
)
from millstream.connectors.sink_errors import write_error_fix
from millstream.engine.compile.compiled_operator import CompiledOperator, late_tables
from millstream.engine.compile.outputs import METRICS_NAME, OutputReader, SideOutputs
from millstream.engine.compile.query import CompiledQuery
from millstream.engine.compile.stable_tasks import in_stable_tasks, quoted
from millstream.engine.compile.stateless import source_of
from millstream.engine.processor.late_output import LateTable
from millstream.engine.processor.routing import (
    MAIN_OUTPUT,
    MESSAGES,
    BatchReport,
    Routing,
    router,
)
from millstream.engine.runtime.session import partitions
from millstream.engine.runtime.user_session import query_settings
from millstream.errors import MillstreamError, RunError
from millstream.observe.ledger import dead_letters_of, late_rows_in
from millstream.plan.facts.output_groups import query_operators, query_references, query_sources
from millstream.plan.facts.union import physical_inputs
from millstream.plan.nodes import Query, ReferenceTable, Source
from millstream.run.batch_writer import Openers, write_batch
from millstream.run.checkpoint import Checkpoint
from millstream.run.failures import failure
from millstream.run.job_sinks import JobSinks
from millstream.run.ledger_store import LedgerStore
from millstream.run.state_limits import StateLimits
from millstream.temporal import LateAction, MalformedAction
from millstream.values import Lookup, OnError

_LATE, _REJECTED = "late ", "rejected "  # prefixes of output names, before the sink's name


def main_output(sink: str, *, several: bool) -> str:
    """The name of the output of main rows to a sink."""
    return f"{MAIN_OUTPUT} {sink}" if several else MAIN_OUTPUT


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sink_columns(spark: SparkSession, sink: Sink, schema: StructType) -> dict[str, Column]:
    """The columns that a sink takes of an output."""
    taking: object = sink
    if isinstance(taking, SupportsProjection):
        ansi = spark.conf.get("spark.sql.ansi.enabled") == "true"
        return taking.projection(schema, ansi=ansi)
    return {name: F.col(quoted(name)) for name in schema.names}


@dataclass(slots=True)
class QueryWriter:
    """Writes one query to its sinks."""

    job_sinks: JobSinks
    spark: SparkSession
    plan: Query
    compiled: CompiledQuery
    main_sinks: Mapping[str, Sink]  # of the outputs, by the name of the sink
    ledger_store: LedgerStore
    state_limits: StateLimits
    checkpoint: Checkpoint
    warn: Callable[[str], None]
    log: Path | None = None
    error: MillstreamError | None = None
    _sinks: dict[str, Sink] = field(default_factory=dict)  # by output
    _names: dict[str, str] = field(default_factory=dict)  # of sinks, by output
    _routing: Routing = field(default_factory=Routing)
    _may_reject: bool = False  # whether rows can go to dead letters
    _warned: set[str] = field(default_factory=set)  # sources with a row ahead of time

    def open(self, sources: Mapping[str, DataFrame | DeferredFrame]) -> None:
        """Opens all sinks, so that an error is reported before the query starts."""
        self._may_reject = any(
            BAD in sources[source.name].schema.names
            and source.malformed is MalformedAction.DEAD_LETTER
            for source in query_sources(self.plan)
        )
        self._may_reject |= bool(self.compiled.max_ahead_by_source) or self.plan.errors.diverts
        several = len(self.plan.outputs) > 1
        for number, output in enumerate(self.plan.outputs):
            sink = self.main_sinks[output.sink.name]
            self._add(main_output(output.sink.name, several=several), output.sink.name, sink)
            if isinstance(sink, SupportsColumnCheck):
                sink.check(partial(self._rows, number))
        names = [main_output(each.sink.name, several=True) for each in self.plan.outputs]
        late, rejected = self._open_late(), self._open_dead_letters()
        failed, failed_results = self._open_failed_rows(rejected)
        self._routing = Routing(
            is_labelled=self.compiled.reader.is_labelled,
            late=late,
            rejected=rejected,
            failed=failed,
            failed_results=failed_results,
            malformed_written_elsewhere=frozenset(
                each.name
                for each in query_sources(self.plan)
                if not self.job_sinks.writes_malformed(each, self.plan)
            ),
            source_names=self.compiled.reader.sources,
            main_outputs=tuple(names) if several else (),
        )

    def _rows(self, output: int) -> DataFrame:
        """A DataFrame with the columns of an output."""
        reader = self.compiled.reader
        if isinstance(reader, OutputReader):
            return reader.rows(self.compiled.stream)
        return self.spark.createDataFrame([], self.compiled.schemas[output])

    def _add(self, output: str, name: str, sink: Sink) -> None:
        self._sinks.setdefault(output, sink)
        self._names[output] = name

    def _open_late(self) -> dict[tuple[int, int], tuple[str, LateTable]]:
        """Opens the sinks of late rows; several operators may share one. If the query computes an
        operator twice, its late rows are written once."""
        operators: dict[str, list[CompiledOperator]] = {}
        found_operators = query_operators(self.plan)
        for number, operator in enumerate(found_operators):
            is_first = found_operators.index(operator) == number
            if is_first and operator.late.action is LateAction.SIDE_OUTPUT:
                name, sink = self.job_sinks.late_sink(operator, self.plan)
                self._add(output := f"{_LATE}{name}", name, sink)
                operators.setdefault(output, []).append(self.compiled.operators[number])
        found: dict[tuple[int, int], tuple[str, LateTable]] = {}
        for output, given in operators.items():
            sharing = self.job_sinks.operators_with_late_sink(self._names[output])
            query = self.plan.name if sharing else None
            for origin, table in late_tables(given, sharing, query).items():
                found[origin] = output, table
                self._check_side_output(output, table.schema)
        return found

    def _check_side_output(self, output: str, schema: pa.Schema) -> None:
        sink = self._sinks[output]
        if isinstance(sink, SupportsSideOutputCheck):
            sink.check_side_output(schema)

    def _open_dead_letters(self) -> dict[str, tuple[str, tuple[int, int] | None]]:
        first_read: dict[str, tuple[int, int]] = {}
        for number, operator in enumerate(query_operators(self.plan)):
            for input_number, side in enumerate(physical_inputs(operator)):
                if source := source_of(side.node):
                    first_read.setdefault(source.name, (number, input_number))
        given: list[Source | ReferenceTable] = list(query_sources(self.plan))
        for table in query_references(self.plan):
            if isinstance(table.access, Lookup) and table.access.on_error is OnError.SIDE_OUTPUT:
                given.append(table)
                self._may_reject = True
        outputs: dict[str, tuple[str, tuple[int, int] | None]] = {}
        for each in given:
            name, sink = self.job_sinks.dead_letter_sink(each, self.plan)
            self._add(output := f"{_REJECTED}{name}", name, sink)
            outputs[each.name] = output, first_read.get(each.name)
            self._check_side_output(output, DEAD_LETTER)
        return outputs

    def _open_failed_rows(
        self, rejected: Mapping[str, tuple[str, tuple[int, int] | None]]
    ) -> tuple[dict[str, str], str | None]:
        """Opens the outputs of rows for which an expression fails: by source, and of results of
        operators."""
        if not self.plan.errors.diverts:
            return {}, None
        name, sink = self.job_sinks.failed_row_sink(self.plan)
        self._add(output := f"{_REJECTED}{name}", name, sink)
        self._check_side_output(output, DEAD_LETTER)
        if self.plan.errors.sink is not None:
            return {}, output
        return {source: found for source, (found, _) in rejected.items()}, output

    @property
    def is_direct(self) -> bool:
        """Whether Spark writes the rows. Only possible without side rows, and if the sink discards
        rows: rows of a retried batch would be duplicates."""
        only_rows = (
            not self._routing.late and not self._may_reject and not self.state_limits.limited
        )
        return self._by_spark is not None and only_rows

    @property
    def _by_spark(self) -> SparkSink | None:
        """The sink of the only output, if Spark can write to it."""
        (sink, *_) = self.main_sinks.values()
        one = len(self.plan.outputs) == 1
        return sink if one and isinstance(sink, SparkSink) else None

    def start(self, trigger: Mapping[str, object]) -> StreamingQuery:
        """Starts the query. `trigger` are the arguments of Spark's `DataStreamWriter.trigger`."""
        checkpoint = self.checkpoint.spark
        reader, sink = self.compiled.reader, self._by_spark
        if self.is_direct and sink is not None and isinstance(reader, OutputReader):
            rows = reader.rows_for_spark(self.compiled.stream)
            stream = rows.writeStream.format(sink.spark_format)
        else:
            stream = self.compiled.stream.writeStream.foreachBatch(self.write)
        named = stream.queryName(self.plan.name).outputMode("append")
        placed = named.option("checkpointLocation", str(checkpoint))
        with query_settings(self.compiled.stream.sparkSession):
            return placed.trigger(**trigger).start()  # type: ignore[call-overload,no-any-return]

    def record_progress(self, batch: int, metrics: Mapping[str, Any]) -> None:
        """Adds to the ledger what Spark reports of a batch that Spark has written."""
        if METRICS_NAME not in metrics:  # Spark reports no metrics for an empty batch
            self.ledger_store.add(batch, [], {})
            return
        reader = self.compiled.reader
        assert isinstance(reader, OutputReader)
        side, rows = reader.read_progress(metrics[METRICS_NAME].asDict())
        self.ledger_store.add(batch, side.stats, {0: rows}, side.tables)

    def write(self, frame: DataFrame, batch: int) -> None:
        try:
            self._write(frame, batch)
        except OSError as error:
            self.error = RunError(
                "MS-RUN-SINK",
                f"a sink of {self.plan.title} could not be written: {error}.",
                fix=write_error_fix(error),
            )
            raise
        except (MillstreamError, PySparkException, Py4JJavaError) as error:
            # Spark would wrap the error in texts of its own.
            self.error = failure(error, self.log)
            if isinstance(error, MillstreamError):
                error.annotate()
            raise

    @contextmanager
    def raise_own_error(self) -> Iterator[None]:
        """Raises the error of this writer instead of the one that Spark makes of it."""
        try:
            yield
        except MillstreamError as error:
            raise self.error or error from error

    def _write(self, frame: DataFrame, batch: int) -> None:
        metrics = self.compiled.reader.metrics
        seen = Observation() if metrics else None
        if seen is not None:
            frame = frame.observe(seen, *metrics)
        rows = self._labelled(frame, batch)
        ids = {name: self._id(name, batch) for name in self._sinks}
        side = SideOutputs()

        def execute(openers: Openers) -> BatchReport:
            found = rows.mapInArrow(router(self._routing, ids, openers), MESSAGES).collect()
            return BatchReport.of(found)

        def before_commit(report: BatchReport, openers: Openers) -> None:  # noqa: ARG001
            nonlocal side
            side = self.compiled.reader.read(report, {} if seen is None else seen.get)
            self.state_limits.check(side.stats)

        report = write_batch(self._sinks, ids, execute, before_commit)
        self._warn_ahead(report)
        self._warn_unreadable(report)
        rows_out = (
            report.rows_by_output() if self._routing.main_outputs else {0: report.rows(MAIN_OUTPUT)}
        )
        self.ledger_store.add(batch, side.stats, rows_out, side.tables, self._written(report))
        self.state_limits.distribute(batch, side.stats)

    def _id(self, output: str, batch: int) -> BatchId:
        return BatchId(self.checkpoint.uuid, self.plan.name, output, batch)

    def _labelled(self, frame: DataFrame, batch: int) -> DataFrame:
        rows = self.compiled.reader.labelled_rows(frame, self._columns)
        if any(sink.stable_tasks for sink in self._sinks.values()):
            return in_stable_tasks(rows, self.checkpoint.tasks(batch, partitions(self.spark)))
        return rows

    def _columns(self, schema: StructType) -> dict[str, Column]:
        (sink,) = self.main_sinks.values()
        return sink_columns(self.spark, sink, schema)

    def _written(self, report: BatchReport) -> Counter[str]:
        """Counts rows written to each sink of late rows, and dead letters of each source or
        table."""
        written: Counter[str] = Counter()
        for output, reports in report.outputs.items():
            for each in reports:
                for source, count in each.dead_letters.items():
                    written[dead_letters_of(source)] += count
                if output.startswith(_LATE):
                    written[late_rows_in(self._names[output])] += each.rows
        return written

    def _warn_unreadable(self, report: BatchReport) -> None:
        """Adds a warning for each source with files that could not be read."""
        for output, reports in report.outputs.items():
            counts: Counter[str] = Counter()
            first: dict[str, str] = {}
            for each in reports:
                for source, (count, text) in each.unreadable.items():
                    counts[source] += count
                    first.setdefault(source, text)
            for source, count in counts.items():
                self.warn(
                    f"source {source}: {_count(count, 'file')} could not be read. The first is "
                    f"{first[source]} The dead-letter queue in {self._names[output]} lists all."
                )

    def _warn_ahead(self, report: BatchReport) -> None:
        """Adds one warning per source and run, with the first of the rows."""
        for output, reports in report.outputs.items():
            found = {
                source: text for each in reports for source, text in each.ahead_messages.items()
            }
            for source, text in found.items():
                if source not in self._warned:
                    self._warned.add(source)
                    self.warn(
                        f"source {source} has rows ahead of time, which go to the dead-letter "
                        f"queue in {self._names[output]}: {text} See 'watermark.max_ahead'."
                    )
