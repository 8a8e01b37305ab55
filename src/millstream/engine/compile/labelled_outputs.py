"""Reads micro-batches of a query with several outputs, whose rows have labels (see `fan_out`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream.connectors.dead_letters import FAILED_EXPRESSION
from millstream.engine.compile.fan_out import NO_OUTPUT, count_label
from millstream.engine.compile.outputs import Columns, SideOutputs
from millstream.engine.processor.routing import BatchReport
from millstream.engine.shuffle.column_names import OUTPUT, RELAYED, ROW_KIND
from millstream.observe.ledger import FAILED_COPIES


@dataclass(frozen=True, slots=True)
class CountedSource:
    """A source whose rows no operator counts. `table` is the number of the first table join below
    the outputs, which counts them instead."""

    name: str
    table: int | None = None


@dataclass(frozen=True, slots=True)
class LabelledOutputReader:
    """`counted_sources` by their number in labels."""

    counted_sources: tuple[CountedSource, ...] = ()
    is_labelled = True

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of malformed records that are no packets, by their number."""
        return tuple(each.name for each in self.counted_sources)

    @property
    def metrics(self) -> Sequence[Column]:
        """The metrics of a batch that Spark observes before it is written."""
        return [
            F.count_if(F.col(OUTPUT) == count_label(number)).alias(each.name)
            for number, each in enumerate(self.counted_sources)
            if each.table is None
        ]

    def labelled_rows(self, frame: DataFrame, columns: Columns) -> DataFrame:
        """The rows for `routing`, without relayed packets and counting copies. `columns` is not
        used: `fan_out` has applied the projections of sinks."""
        is_counted = F.coalesce(F.col(OUTPUT) < NO_OUTPUT, F.lit(False))
        return frame.where((F.col(ROW_KIND) != RELAYED) & ~is_counted)

    def read(self, report: BatchReport, observe_statistics: Mapping[str, int]) -> SideOutputs:
        """Statistics of operators and table joins, and counts of rows that no operator reads."""
        side = SideOutputs()
        for text in report.stats:
            side.add_statistics(text)
        for each in self.counted_sources:
            malformed, failed, copies = report.rejected(each.name)
            looked_up = sum(
                report["rows"] for report in side.tables if report["number"] == each.table
            )
            rows = looked_up if each.table is not None else observe_statistics.get(each.name, 0)
            counts: dict[str, Any] = {"in": rows, "malformed": malformed}
            counts |= {FAILED_EXPRESSION: failed, FAILED_COPIES: copies} if failed else {}
            side.stats.append({"input_counts": {each.name: counts}, "counts": {}})
        return side
