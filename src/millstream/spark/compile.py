"""A pipeline of the plan as one streaming DataFrame, on the engine that was chosen for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.kernels.base import BEFORE, OP
from millstream.observe.account import input_names
from millstream.plan.nodes import Engine, Node, Operator, Pipeline, Select, Source, TableJoin
from millstream.plan.walk import operators_of, sources_of
from millstream.spark import native
from millstream.spark.columnar import Columnar
from millstream.spark.operated import Operated
from millstream.spark.packets import BAD
from millstream.spark.ports import Batch, SideRows, checked, observed, ported
from millstream.spark.stateless import flow, refusing_malformed, select, with_wall_clock
from millstream.spark.tables.join import Tables, TableSteps
from millstream.temporal import Malformed, OutputMode


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled pipeline.

    `stream` is what a streaming query must run; `batch` reads a micro-batch of it; `rows` is the
    pipeline's result alone, for those who write it themselves. `operators` read late rows.
    """

    stream: DataFrame
    batch: Callable[[DataFrame], Batch]
    rows: DataFrame
    operators: tuple[Operated, ...] = ()


def compile_pipeline(
    spark: SparkSession,
    pipeline: Pipeline,
    sources: Mapping[str, DataFrame],
    *,
    engine: Engine,
    groups: int,
    control: str | None,
    tables: Tables | None = None,
) -> Query:
    steps = TableSteps(spark, tables)
    operator, selects = _split(pipeline.root)
    sources = {
        source.name: with_wall_clock(source, sources[source.name])
        for source in sources_of(pipeline.root)
    }
    if not operators_of(pipeline.root):
        return _stateless(pipeline.root, sources, steps)
    if engine is Engine.NATIVE:
        assert operator is not None
        rows = _apply(selects, native.operate(spark, operator, sources, control=control))
        return Query(rows, lambda batch: Batch(batch, SideRows), rows)
    columnar = Columnar(spark, sources, input_names(pipeline.root), groups, control, steps)
    if operator is None:
        return _to_table(pipeline, columnar)
    top = columnar.operate(operator)

    def main(frame: DataFrame) -> DataFrame:
        shown = _apply(selects, top.main(frame), changes=top.changes)
        filtered = any(each.where is not None for each in selects)
        return in_mode(shown, pipeline.mode, filtered) if top.changes else shown

    def read(batch: DataFrame) -> Batch:
        caught = ported(batch)
        return Batch(main(caught.main), caught.side)

    made = tuple(each for each in columnar.made if each is not None)
    return Query(top.raw, read, main(observed(top.raw)), made)


def _to_table(pipeline: Pipeline, columnar: Columnar) -> Query:
    """A table join stands above all operators: it is part of the stream that Spark runs."""
    rows = columnar.flow(pipeline.root)

    def main(frame: DataFrame) -> DataFrame:
        shown = replace(rows, frame=frame).main()
        return in_mode(shown, pipeline.mode, rows.filtered) if rows.changes else shown

    def read(batch: DataFrame) -> Batch:
        caught = ported(batch)
        return Batch(main(caught.main), caught.side)

    made = tuple(each for each in columnar.made if each is not None)
    return Query(rows.frame, read, main(observed(rows.frame)), made)


def in_mode(rows: DataFrame, mode: OutputMode, filtered: bool) -> DataFrame:
    """Rows that change, as a sink is told of them: `_OP` last, without old values if so asked.

    Of a change, a filter may let the old value through and not the new one. So where there is one,
    the old value is told as gone before the new one comes.
    """
    names = _OPS
    if mode is OutputMode.UPSERT and filtered:
        names = tuple("-D" if name == "-U" else name for name in _OPS)
    elif mode is OutputMode.UPSERT:
        rows = rows.where(F.col(OP) != BEFORE)
    op = F.element_at(F.array(*map(F.lit, names)), F.col(OP) + 1)
    return rows.select(*(f"`{name}`" for name in rows.columns if name != OP), op.alias("_OP"))


_OPS: tuple[str, ...] = ("+I", "-U", "+U", "-D")


def _split(root: Select) -> tuple[Operator | None, list[Select]]:
    """The topmost operator and the SELECTs above it, lowest first; no operator, if a table or a
    source is what they stand on."""
    selects: list[Select] = []
    node: Node = root
    while isinstance(node, Select):
        selects.insert(0, node)
        node = node.input
    return (None if isinstance(node, Source | TableJoin) else node), selects


def _apply(selects: list[Select], frame: DataFrame, *, changes: bool = False) -> DataFrame:
    for node in selects:
        frame = select(node, frame, changes=changes)
    return frame


def _stateless(root: Select, sources: Mapping[str, DataFrame], tables: TableSteps) -> Query:
    (source,) = sources_of(root)
    name = source.name
    if source.malformed is Malformed.FAIL and BAD in sources[name].columns:
        said = "does not fit its schema", "Mend the input."
        sources = {name: refusing_malformed(source, sources[name], *said)}
    rows = flow(root, sources, lambda node: tables.below(node, sources))

    def read(batch: DataFrame) -> Batch:
        caught = checked(batch, name)
        return Batch(replace(rows, frame=caught.main).main(), caught.side)

    return Query(rows.frame, read, rows.main())
