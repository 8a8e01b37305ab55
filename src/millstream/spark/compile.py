"""A pipeline of the plan as one streaming DataFrame, on the engine that was chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.kernels.base import BEFORE, OP
from millstream.observe.account import input_names
from millstream.plan.nodes import Engine, Operator, Pipeline, Select, TableJoin
from millstream.plan.walk import operators_of, sources_of
from millstream.spark import native
from millstream.spark.columnar import Columnar
from millstream.spark.operated import Operated
from millstream.spark.packets import BAD
from millstream.spark.ports import Reading, observed
from millstream.spark.stateless import Flow, flow, refusing_malformed, with_wall_clock
from millstream.spark.tables.join import Tables, TableSteps
from millstream.temporal import Malformed, OutputMode


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled pipeline.

    `stream` is what a streaming query must run; `reading` reads a micro-batch of it; `operators`
    read late rows.
    """

    stream: DataFrame
    reading: Reading
    operators: tuple[Operated, ...] = ()

    @property
    def rows(self) -> DataFrame:
        """The pipeline's result alone, for those who write it themselves."""
        return self.reading.rows(observed(self.stream) if self.operators else self.stream)


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
    sources = {
        source.name: with_wall_clock(source, sources[source.name])
        for source in sources_of(pipeline.root)
    }
    if not operators_of(pipeline.root):
        return _stateless(pipeline.root, sources, steps)
    if engine is Engine.NATIVE:
        return _native(spark, pipeline.root, sources, control)
    columnar = Columnar(spark, sources, input_names(pipeline.root), groups, control, steps)
    rows = columnar.flow(pipeline.root)
    made = tuple(each for each in columnar.made if each is not None)
    sound, shown = in_mode(rows, pipeline.mode) if rows.changes else (rows.sound, rows.shown)
    reading = Reading(sound, shown, sided=True)
    return Query(rows.frame, reading, made)


def in_mode(rows: Flow, mode: OutputMode) -> tuple[Column | None, tuple[Column, ...]]:
    """Rows that change, as a sink is told of them: `_OP` last, without old values if so asked.

    Of a change, a filter may let the old value through and not the new one. So where there is one,
    the old value is told as gone before the new one comes.
    """
    names, sound = _OPS, rows.sound
    if mode is OutputMode.UPSERT and rows.filtered:
        names = tuple("-D" if name == "-U" else name for name in _OPS)
    elif mode is OutputMode.UPSERT:
        told = F.col(OP) != BEFORE
        sound = told if sound is None else sound & told
    op = F.element_at(F.array(*map(F.lit, names)), F.col(OP) + 1)
    return sound, (*rows.shown, op.alias("_OP"))


_OPS: tuple[str, ...] = ("+I", "-U", "+U", "-D")


def _native(
    spark: SparkSession, root: Select, sources: Mapping[str, DataFrame], control: str | None
) -> Query:
    def result(node: Operator | TableJoin) -> Flow:
        assert not isinstance(node, TableJoin), "the native engine joins no tables"
        return Flow(native.operate(spark, node, sources, control=control))

    rows = flow(root, sources, result).main()
    reading = Reading(None, tuple(F.col(f"`{name}`") for name in rows.columns))
    return Query(rows, reading)


def _stateless(root: Select, sources: Mapping[str, DataFrame], tables: TableSteps) -> Query:
    (source,) = sources_of(root)
    name = source.name
    if source.malformed is Malformed.FAIL and BAD in sources[name].columns:
        said = "does not fit its schema", "Mend the input."
        sources = {name: refusing_malformed(source, sources[name], *said)}
    rows = flow(root, sources, lambda node: tables.below(node, sources))
    reading = Reading(rows.sound, rows.shown, sided=rows.sided, checked=rows.checked, source=name)
    return Query(rows.frame, reading)
