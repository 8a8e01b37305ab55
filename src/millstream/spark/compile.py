"""A pipeline of the plan as one streaming DataFrame, on the engine that was chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.connectors.rows import Rows
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
    sources: Mapping[str, DataFrame | Rows],
    *,
    engine: Engine,
    groups: int,
    control: str | None,
    tables: Tables | None = None,
) -> Query:
    steps = TableSteps(spark, tables)
    # A frame under two names is one stream.
    same = {id(given): Rows.of(given) for given in sources.values() if not isinstance(given, Rows)}
    read = {}
    for source in sources_of(pipeline.root):
        given = sources[source.name]
        rows = given if isinstance(given, Rows) else same[id(given)]
        read[source.name] = with_wall_clock(source, rows)
    if not operators_of(pipeline.root):
        return _stateless(pipeline.root, read, steps)
    if engine is Engine.NATIVE:
        return _native(spark, pipeline.root, read, control)
    columnar = Columnar(spark, read, input_names(pipeline.root), groups, control, steps)
    result = columnar.flow(pipeline.root)
    made = tuple(each for each in columnar.made if each is not None)
    sound, shown = result.sound, result.shown
    if result.changes:
        sound, shown = in_mode(result, pipeline.mode)
    return Query(result.frame, Reading(sound, shown, sided=True), made)


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
    spark: SparkSession, root: Select, sources: Mapping[str, Rows], control: str | None
) -> Query:
    frames = {name: rows.frame for name, rows in sources.items()}

    def result(node: Operator | TableJoin) -> Flow:
        assert not isinstance(node, TableJoin), "the native engine joins no tables"
        return Flow(Rows.of(native.operate(spark, node, frames, control=control)))

    rows = flow(root, sources, result).main()
    reading = Reading(None, tuple(F.col(f"`{name}`") for name in rows.columns))
    return Query(rows, reading)


def _stateless(root: Select, sources: Mapping[str, Rows], tables: TableSteps) -> Query:
    (source,) = sources_of(root)
    name = source.name
    if source.malformed is Malformed.FAIL and BAD in sources[name].types:
        said = "does not fit its schema", "Mend the input."
        sources = {name: Rows.of(refusing_malformed(source, sources[name].frame, *said))}
    rows = flow(root, sources, lambda node: tables.below(node, sources))
    reading = Reading(rows.sound, rows.shown, sided=rows.sided, checked=rows.checked, source=name)
    return Query(rows.frame, reading)
