"""Compiles a query to one streaming DataFrame, on the engine that the plan selects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.engine.compile.columnar import ColumnarCompiler
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.fan_out import Projection
from millstream.engine.compile.filtered_changes import with_change_kinds
from millstream.engine.compile.labelled_outputs import LabelledOutputReader
from millstream.engine.compile.native import compile_native
from millstream.engine.compile.output_groups import OutputGroupCompiler
from millstream.engine.compile.outputs import OutputReader, in_output_mode, observe_statistics
from millstream.engine.compile.stateless import fill_missing_times, with_changes
from millstream.engine.compile.table_join import TableJoinCompiler, Tables, compile_stateless
from millstream.engine.runtime.check import check_driver, check_jvm
from millstream.engine.runtime.user_session import check_state_store
from millstream.engine.shuffle.control_stream import ControlStream
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.observe.operator_names import names_of
from millstream.plan.facts.output_groups import query_operators, query_sources
from millstream.plan.identity import operator_identities
from millstream.plan.nodes import Engine, Pipeline, Query, Select
from millstream.plan.nodes.traversal import sources_of


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A compiled query.

    Attributes:
        stream: The DataFrame that the streaming query runs.
        reader: Reads the outputs of a micro-batch.
        operators: The compiled operators, which know the columns of late rows.
        max_ahead_by_source: How far event times may be ahead of processing time.
        schemas: The columns of each output, if there are several.
    """

    stream: DataFrame
    reader: OutputReader | LabelledOutputReader
    operators: tuple[CompiledOperator, ...] = ()
    max_ahead_by_source: Mapping[str, MaxAhead] = field(default_factory=dict)
    schemas: Mapping[int, StructType] = field(default_factory=dict)

    @property
    def rows(self) -> DataFrame:
        """The result of a query with one output, for a caller that writes it."""
        assert isinstance(self.reader, OutputReader)
        return self.reader.rows(observe_statistics(self.stream) if self.operators else self.stream)


def compile_query(
    spark: SparkSession,
    query: Query,
    sources: Mapping[str, DataFrame | DeferredFrame],
    *,
    engine: Engine,
    groups: int,
    control: str | None,
    tables: Tables | None = None,
    max_ahead: int | None = None,
    sends_allowances: bool = False,
    project: Projection | None = None,
) -> CompiledQuery:
    """Compiles a query. `project` returns the columns of a sink, if there are several outputs."""
    check_driver()
    check_jvm(spark)
    diverts = query.errors.diverts
    steps = TableJoinCompiler(spark, tables, diverts)
    # A DataFrame with two names is one stream.
    same = {
        id(given): DeferredFrame.of(given)
        for given in sources.values()
        if not isinstance(given, DeferredFrame)
    }
    read = {}
    for source in query_sources(query):
        given = sources[source.name]
        rows = given if isinstance(given, DeferredFrame) else same[id(given)]
        read[source.name] = with_changes(source, fill_missing_times(source, rows))
    messages = None if control is None else ControlStream(spark, control)
    operators = names_of(query)
    names = tuple(each.physical for each in operators)
    titles = tuple(each.operator for each in operators) if diverts else ()
    identities = operator_identities(query)
    columnar = ColumnarCompiler(
        spark,
        read,
        names,
        identities,
        groups,
        messages,
        steps,
        titles,
        max_ahead,
        sends_allowances,
    )
    if query_operators(query) and engine is Engine.COLUMNAR:
        check_state_store(spark)
    if len(query.outputs) > 1:
        assert project is not None
        compiler = OutputGroupCompiler(query, columnar, project, native=engine is Engine.NATIVE)
        stream = compiler.compile()
        return CompiledQuery(
            stream,
            compiler.reader,
            compiler.operators,
            columnar.max_ahead_by_source,
            compiler.schemas,
        )
    (output,) = query.outputs
    if not query_operators(query):
        return _stateless(output, read, steps)
    if engine is Engine.NATIVE:
        return _native(output.root, read, messages)
    return _columnar(output, columnar)


def _columnar(output: Pipeline, columnar: ColumnarCompiler) -> CompiledQuery:
    result = columnar.compile_stream(output.root)
    compiled = tuple(each for each in columnar.compiled if each is not None)
    is_data_row, visible_columns = result.is_data_row, result.visible_columns
    stream = result.frame
    if result.is_changelog:
        is_data_row, visible_columns = in_output_mode(result, output.mode)
        stream = with_change_kinds(stream) if result.filtered else stream
    return CompiledQuery(
        stream,
        OutputReader(
            is_data_row,
            visible_columns,
            has_side_rows=True,
            has_bad_records=result.has_bad_records,
        ),
        compiled,
        columnar.max_ahead_by_source,
    )


def _native(
    root: Select, sources: Mapping[str, DeferredFrame], control: ControlStream | None
) -> CompiledQuery:
    rows = compile_native(root, sources, control).data_rows()
    return CompiledQuery(
        rows, OutputReader(None, tuple(F.col(f"`{name}`") for name in rows.columns))
    )


def _stateless(
    output: Pipeline, sources: Mapping[str, DeferredFrame], tables: TableJoinCompiler
) -> CompiledQuery:
    (source,) = sources_of(output.root)
    rows = compile_stateless(output.root, source, sources, tables)
    is_data_row, visible_columns, stream = rows.is_data_row, rows.visible_columns, rows.frame
    if rows.is_changelog:
        is_data_row, visible_columns = in_output_mode(rows, output.mode)
        stream = with_change_kinds(stream) if rows.filtered else stream
    reader = OutputReader(
        is_data_row,
        visible_columns,
        has_side_rows=rows.has_side_rows,
        has_bad_records=rows.has_bad_records,
        source=source.name,
    )
    return CompiledQuery(stream, reader)
