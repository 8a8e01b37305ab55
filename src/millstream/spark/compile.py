"""A pipeline of the plan as one streaming DataFrame, on the engine that was chosen for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.plan.nodes import Engine, IntervalJoin, Pipeline, Select, Source
from millstream.plan.walk import sources_of
from millstream.spark import columnar, native
from millstream.spark.packets import BAD, KEEP
from millstream.spark.ports import Batch, SideRows, checked, observed, ported
from millstream.spark.stateless import (
    flow,
    refusing_malformed,
    select,
    source_of,
    with_wall_clock,
)
from millstream.temporal import Malformed


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled pipeline.

    `stream` is what a streaming query must run; `batch` reads a micro-batch of it; `rows` is the
    pipeline's result alone, for those who write it themselves.
    """

    stream: DataFrame
    batch: Callable[[DataFrame], Batch]
    rows: DataFrame
    late: Callable[[SparkSession, list[tuple[int, pa.Table]]], DataFrame] | None = None


def compile_pipeline(
    spark: SparkSession,
    pipeline: Pipeline,
    sources: Mapping[str, DataFrame],
    *,
    engine: Engine,
    groups: int,
    control: str | None,
) -> Query:
    join, selects = _split(pipeline.root)
    sources = {
        source.name: with_wall_clock(source, sources[source.name])
        for source in sources_of(pipeline.root)
    }
    if join is None:
        return _stateless(pipeline.root, sources)
    if engine is Engine.NATIVE:
        rows = _apply(selects, native.join(spark, join, sources, control=control))
        return Query(rows, lambda batch: Batch(batch, SideRows), rows)
    joined = columnar.join(spark, join, sources, groups=groups, control=control)

    def main(frame: DataFrame) -> DataFrame:
        return _apply(selects, joined.main(frame))

    def read(batch: DataFrame) -> Batch:
        caught = ported(batch)
        return Batch(main(caught.main), caught.side)

    return Query(joined.raw, read, main(observed(joined.raw)), joined.late)


def _split(root: Select) -> tuple[IntervalJoin | None, list[Select]]:
    """The join at the bottom, if there is one, and the SELECTs above it, lowest first."""
    selects: list[Select] = []
    node: Source | Select | IntervalJoin = root
    while isinstance(node, Select):
        selects.insert(0, node)
        node = node.input
    return (node, selects) if isinstance(node, IntervalJoin) else (None, selects)


def _apply(selects: list[Select], frame: DataFrame) -> DataFrame:
    for node in selects:
        frame = select(node, frame)
    return frame


def _stateless(root: Select, sources: Mapping[str, DataFrame]) -> Query:
    source = source_of(root)
    name = source.name
    if source.malformed is Malformed.FAIL and BAD in sources[name].columns:
        said = "does not fit its schema", "Mend the input."
        sources = {name: refusing_malformed(source, sources[name], *said)}
    rows = flow(root, sources)

    def keep(frame: DataFrame) -> DataFrame:
        return frame.where(F.col(KEEP)).drop(KEEP) if rows.filtered else frame

    def read(batch: DataFrame) -> Batch:
        caught = checked(batch, name)
        return Batch(keep(caught.main), caught.side)

    plain = rows.frame.where(F.col(BAD).isNull()).drop(BAD) if rows.checked else rows.frame
    return Query(rows.frame, read, keep(plain))
