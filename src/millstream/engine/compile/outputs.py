"""Reads the outputs of a micro-batch: main rows, late rows, rejected records, statistics.

All of them are in one plan, so a batch runs once, without a second pass and without a cache. In
`run`, executors write them (`routing`). For DataFrames of the Python API, an observation collects
them on the driver.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from millstream.connectors.dead_letters import BAD, FAILED_EXPRESSION, Rejection, dead_letters
from millstream.connectors.work_items import CHANGE
from millstream.engine.compile.stateless import StreamFrame
from millstream.engine.processor.routing import BAD_RECORD, BatchReport
from millstream.engine.shuffle.column_names import (
    INPUTS,
    LATE,
    MAIN,
    ORIGIN,
    PAYLOAD,
    ROW_KIND,
    STATS,
)
from millstream.engine.shuffle.format import decode
from millstream.kernels.core.kernel import UPDATE_BEFORE
from millstream.temporal import CHANGE_KIND, CHANGE_KINDS, OutputMode


@dataclass(slots=True)
class SideOutputs:
    """The side outputs of a batch: rejected records and late rows, each with operator and input,
    and the statistics of key groups and of table joins."""

    rejected: list[tuple[tuple[int, int], pa.Table]] = field(default_factory=list)
    late: list[tuple[tuple[int, int], pa.Table]] = field(default_factory=list)
    stats: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def add_statistics(self, text: str | bytes) -> None:
        stats = json.loads(text)
        (self.stats if "operator" in stats else self.tables).append(stats)


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A micro-batch. `main` must be run exactly once; then `side` returns the side outputs and
    `count` the number of rows of `main`."""

    main: DataFrame
    side: Callable[[], SideOutputs]
    count: Callable[[], int]


METRICS_PREFIX = "millstream"  # of the names of statistics in a query's progress
Columns = Callable[[StructType], dict[str, Column]]
METRICS_NAME = "metrics"  # the name of the metrics of an `OutputReader` in the progress


def observe_statistics(stream: DataFrame) -> DataFrame:
    """Returns the stream of a processor, with its statistics in the progress of the query."""
    name = f"{METRICS_PREFIX}-{uuid.uuid4().hex[:8]}"  # a query may have several streams
    return stream.observe(name, _statistics().alias("stats"))


def _statistics() -> Column:
    """The statistics of operators and table joins, as texts: the progress is JSON."""
    return F.collect_list(F.when(F.col(ROW_KIND) == STATS, F.col(PAYLOAD).cast(StringType())))


def operator_statistics(texts: list[str]) -> list[dict[str, Any]]:
    """Returns the statistics of operators, without those of table joins."""
    return [stats for stats in map(json.loads, texts) if "operator" in stats]


@dataclass(slots=True)
class OutputReader:
    """Separates the data rows of micro-batches from side rows and counts them.

    Attributes:
        is_data_row: True for data rows; None if all rows are.
        visible_columns: The columns of the output.
        has_side_rows: Whether packets of operators and table joins are among the rows.
        has_bad_records: Whether malformed records are among the rows.
        source: The source, if no operator counts its rows.
    """

    is_data_row: Column | None
    visible_columns: tuple[Column, ...]
    has_side_rows: bool = False
    has_bad_records: bool = False
    source: str | None = None
    _counts: list[Column] = field(init=False)
    _side_metrics: list[Column] = field(init=False)
    _sink_columns: dict[str, Column] | None = None  # by the sink

    def __post_init__(self) -> None:
        self._counts = [F.count(F.lit(1)).alias("rows")]
        if self.is_data_row is not None:
            self._counts.append(F.count_if(self.is_data_row).alias("data_rows"))
        self._side_metrics = []
        if self.has_bad_records:
            self._side_metrics.append(F.collect_list(F.col(BAD)).alias("bad"))
        if self.has_side_rows:
            packet = F.when(F.col(ROW_KIND) != MAIN, F.struct(ROW_KIND, ORIGIN, PAYLOAD))
            self._side_metrics.append(F.collect_list(packet).alias("packets"))

    def rows(self, frame: DataFrame) -> DataFrame:
        return (frame if self.is_data_row is None else frame.where(self.is_data_row)).select(
            *self.visible_columns
        )

    def batch(self, frame: DataFrame) -> MicroBatch:
        seen = Observation()
        rows = self.rows(frame.observe(seen, *self._counts, *self._side_metrics))
        return MicroBatch(rows, lambda: self._side(seen.get), lambda: self._count(seen.get))

    def labelled_rows(self, frame: DataFrame, columns: Columns) -> DataFrame:
        """Returns the rows of a batch for `routing`: data rows with the columns of their sink, and
        all side rows."""
        is_main, side = None, []
        if self.has_side_rows:
            is_main, side = (
                F.col(ROW_KIND) == MAIN,
                [F.col(name) for name in (ROW_KIND, ORIGIN, PAYLOAD)],
            )
        if self.has_bad_records:
            bad = F.col(BAD).isNotNull()
            kind = F.when(bad, F.lit(BAD_RECORD)).otherwise(side[0] if side else F.lit(0))
            origin = side[1] if side else F.lit(0)
            payload = F.when(bad, F.col(BAD).cast("binary"))
            payload = payload.otherwise(side[2]) if side else payload
            side = [
                kind.cast("tinyint").alias(ROW_KIND),
                origin.alias(ORIGIN),
                payload.alias(PAYLOAD),
            ]
            is_main = ~bad if is_main is None else is_main & ~bad
        if self.is_data_row is not None:
            frame = frame.where(
                self.is_data_row if is_main is None else self.is_data_row | ~is_main
            )
        rows = frame.select(*self.visible_columns, *side)
        if self._sink_columns is None:
            names = {ROW_KIND, ORIGIN, PAYLOAD} if side else set()
            output_columns = StructType([each for each in rows.schema if each.name not in names])
            self._sink_columns = columns(output_columns)
        values = self._sink_columns
        if side:
            # Computed for data rows only: the expressions of a sink may fail on other rows.
            known, main = set(rows.columns), F.col(ROW_KIND) == MAIN
            values = {
                name: column if name in known else F.when(main, column)
                for name, column in values.items()
            }
        selected = [column.alias(name) for name, column in values.items()]
        return rows.select(*selected, *((ROW_KIND, ORIGIN, PAYLOAD) if side else ()))

    @property
    def metrics(self) -> Sequence[Column]:
        """The metrics of a batch that Spark observes before it is written: the number of its rows,
        if no operator and no table join counts them."""
        counts = self.source is not None and not self.has_side_rows
        return [F.count(F.lit(1)).alias("rows")] if counts else []

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of malformed records that are no packets, by their number."""
        return () if self.source is None else (self.source,)

    @property
    def is_labelled(self) -> bool:
        return self.has_side_rows or self.has_bad_records

    def read(self, report: BatchReport, observed: Mapping[str, int]) -> SideOutputs:
        """Returns the statistics of a batch. `observed` are the values of `metrics`."""
        side = SideOutputs()
        for text in report.stats:
            side.add_statistics(text)
        if self.source is not None:
            malformed, failed, _ = report.rejected(self.source)
            rows = observed.get("rows", 0)
            side.stats.append(self._source_counts(side, rows, malformed, failed))
        return side

    def rows_for_spark(self, stream: DataFrame) -> DataFrame:
        """Returns the rows of a stream that Spark writes itself. Counts and statistics are in the
        progress; other side rows are lost."""
        stats = [_statistics().alias("stats")] if self.has_side_rows else []
        return self.rows(stream.observe(METRICS_NAME, *self._counts, *stats))

    def read_progress(self, metrics: Mapping[str, Any]) -> tuple[SideOutputs, int]:
        """Returns the side outputs and the number of rows of a batch of `rows_for_spark`, from the
        metrics in its progress."""
        return self._side(metrics), self._count(metrics)

    def _count(self, metrics: Mapping[str, Any]) -> int:
        return int(metrics["rows" if self.is_data_row is None else "data_rows"])

    def _side(self, metrics: Mapping[str, Any]) -> SideOutputs:
        side = _decode_side_rows(metrics.get("packets") or [])
        for text in metrics.get("stats") or []:
            side.add_statistics(text)
        if self.source is None:
            return side
        bad = metrics.get("bad") or []
        side.stats.append(self._source_counts(side, metrics["rows"], len(bad)))
        if bad:
            letters = dead_letters(self.source, map(Rejection.decode, bad))
            side.rejected.append(((0, 0), letters))
        return side

    def _source_counts(
        self, side: SideOutputs, rows: int, malformed: int, failed: int = 0
    ) -> dict[str, Any]:
        """The counts of a query without operators. With table joins, a row may have several
        matches; the first join has counted the rows before."""
        first = min((report["number"] for report in side.tables), default=0)
        looked_up = [report["rows"] for report in side.tables if report["number"] == first]
        read = {"in": sum(looked_up) if self.has_side_rows else rows, "malformed": malformed}
        read |= {FAILED_EXPRESSION: failed} if failed else {}
        return {"input_counts": {self.source: read}, "counts": {}}


def _decode_side_rows(rows: list[Any]) -> SideOutputs:
    side = SideOutputs()
    for kind, origin, payload in rows:
        if kind == STATS:
            side.add_statistics(bytes(payload))
        elif kind == LATE:
            side.late.append((divmod(origin, INPUTS), decode(bytes(payload))))
        else:
            side.rejected.append((divmod(origin, INPUTS), decode(bytes(payload))))
    return side


def in_output_mode(rows: StreamFrame, mode: OutputMode) -> tuple[Column | None, tuple[Column, ...]]:
    """Returns the predicate and the columns of a changelog as its sink takes it: with `_OP` as the
    last column and, in upsert mode, without old values."""
    is_data_row = rows.is_data_row
    if mode is OutputMode.UPSERT:
        replaced = F.col(CHANGE) != UPDATE_BEFORE
        is_data_row = replaced if is_data_row is None else is_data_row & replaced
    op = F.element_at(F.array(*map(F.lit, CHANGE_KINDS)), F.col(CHANGE) + 1)
    return is_data_row, (*rows.visible_columns, op.alias(CHANGE_KIND))
