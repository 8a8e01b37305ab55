"""A pipeline of the plan as one streaming DataFrame, on the engine that was chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.connectors.dead_letters import BAD, REMEDY
from millstream.connectors.rows import Rows
from millstream.kernels.base import BEFORE
from millstream.observe.operator_names import names_of
from millstream.plan.identity import operator_identities
from millstream.plan.nodes import Engine, Operator, Pipeline, Select, TableJoin
from millstream.plan.walk import operators_of, sources_of
from millstream.spark import native
from millstream.spark.column_names import CHANGE
from millstream.spark.columnar import Columnar
from millstream.spark.control import ControlStream
from millstream.spark.filtered_changes import with_kinds
from millstream.spark.max_ahead import MaxAhead
from millstream.spark.operated import Operated
from millstream.spark.ports import Reading, observed
from millstream.spark.runtime.check import check_driver, check_jvm
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
    limits: Mapping[str, MaxAhead] = field(default_factory=dict)  # by source

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
    max_ahead: int | None = None,
    allowances: bool = False,
) -> Query:
    check_driver()
    check_jvm(spark)
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
    messages = None if control is None else ControlStream(spark, control)
    if engine is Engine.NATIVE:
        return _native(pipeline.root, read, messages)
    names = tuple(each.inputs for each in names_of(pipeline.root))
    identities = operator_identities(pipeline.root)
    columnar = Columnar(
        spark, read, names, identities, groups, messages, steps, max_ahead, allowances
    )
    result = columnar.flow(pipeline.root)
    made = tuple(each for each in columnar.made if each is not None)
    sound, shown = result.sound, result.shown
    stream = result.frame
    if result.changes:
        sound, shown = in_mode(result, pipeline.mode)
        stream = with_kinds(stream) if result.filtered else stream
    return Query(stream, Reading(sound, shown, sided=True), made, columnar.limits)


def in_mode(rows: Flow, mode: OutputMode) -> tuple[Column | None, tuple[Column, ...]]:
    """Rows that change, as a sink sees them: `_OP` last; in upsert mode without old values."""
    sound = rows.sound
    if mode is OutputMode.UPSERT:
        replaced = F.col(CHANGE) != BEFORE
        sound = replaced if sound is None else sound & replaced
    op = F.element_at(F.array(*map(F.lit, _OPS)), F.col(CHANGE) + 1)
    return sound, (*rows.shown, op.alias("_OP"))


_OPS: tuple[str, ...] = ("+I", "-U", "+U", "-D")


def _native(root: Select, sources: Mapping[str, Rows], control: ControlStream | None) -> Query:
    frames = {name: rows.frame for name, rows in sources.items()}

    def result(node: Operator | TableJoin) -> Flow:
        assert not isinstance(node, TableJoin), "the native engine joins no tables"
        return Flow(Rows.of(native.operate(node, frames, control=control)))

    rows = flow(root, sources, result).main()
    reading = Reading(None, tuple(F.col(f"`{name}`") for name in rows.columns))
    return Query(rows, reading)


def _stateless(root: Select, sources: Mapping[str, Rows], tables: TableSteps) -> Query:
    (source,) = sources_of(root)
    name = source.name
    if source.malformed is Malformed.FAIL and BAD in sources[name].types:
        sources = {name: Rows.of(refusing_malformed(source, sources[name].frame, REMEDY))}
    rows = flow(root, sources, lambda node: tables.below(node, sources))
    reading = Reading(rows.sound, rows.shown, sided=rows.sided, checked=rows.checked, source=name)
    return Query(rows.frame, reading)
