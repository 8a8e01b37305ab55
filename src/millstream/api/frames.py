"""Compiles a plan to a streaming DataFrame, or to several outputs of one query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream.api.plan_steps import Names, Step
from millstream.api.sources import SourceFrame
from millstream.api.sql_clauses import STREAM
from millstream.api.tables import DATAFRAME, FrameTables
from millstream.api.values import mode_of
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.registry import open_source
from millstream.engine.compile.outputs import OutputReader
from millstream.engine.compile.query import CompiledQuery, compile_query
from millstream.engine.compile.scan_rows import rows_of
from millstream.errors import PlanError
from millstream.plan.build.job import build_pipeline
from millstream.plan.facts.pipeline import choose_engine, derive_pipeline_facts
from millstream.plan.facts.used_columns import used_columns
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Engine, Pipeline, Query, SinkDef, Source
from millstream.plan.nodes.traversal import operators_of, reference_tables_of, sources_of
from millstream.temporal import ErrorAction, LateAction
from millstream.values import Lookup, OnError

KEY_GROUPS = 8  # state is stored by key group, so the number must not change between runs
WriteBatch = Callable[[DataFrame, int], None]


def pipeline_of(
    root: Step | SourceFrame,
    names: Names,
    *,
    engine: str = "auto",
    mode: str | None = None,
    sink: SinkDef | None = None,
    on_error: str | None = None,
) -> Pipeline:
    """Returns the pipeline of a stream: the plan of its last step, written to a sink."""
    step = root if isinstance(root, Step) else Step(f"SELECT * FROM {STREAM}", {STREAM: root})
    with step.located():
        pipeline = build_pipeline(
            step.planned(names), sink, mode_of(mode), parse_error_action(on_error)
        )
        if engine != "auto":
            pipeline = replace(pipeline, engine=parse_engine(engine))
        derive_pipeline_facts(pipeline)
    _reject_second_name(pipeline, names)
    return pipeline


def declared_sources(pipeline: Pipeline) -> list[Source]:
    """Returns the sources that the text of a query declares: the versioned tables of datasets."""
    return [source for source in sources_of(pipeline.root) if source.connector != DATAFRAME]


def _reject_second_name(pipeline: Pipeline, names: Names) -> None:
    taken = {name.lower() for name in names.leaves}
    for source in declared_sources(pipeline):
        if source.name.lower() in taken:
            raise PlanError(
                "MS-PLAN-DUPLICATE-NAME",
                f"two inputs of the query have the name {source.name}.",
                fix="Give each a name of its own.",
                place=source.place,
            )
        taken.add(source.name.lower())


def parse_engine(name: str) -> Engine:
    try:
        return Engine(name)
    except ValueError:
        raise PlanError(
            "MS-PLAN-ENGINE", f"{name!r} is not an engine.", fix=f"Use one of {', '.join(Engine)}."
        ) from None


def parse_error_action(name: str | None) -> ErrorAction | None:
    try:
        return None if name is None else ErrorAction(name)
    except ValueError:
        raise PlanError(
            "MS-PLAN-ON-ERROR",
            f"{name!r} is not an action for a row for which an expression fails.",
            fix=f"Use one of {', '.join(ErrorAction)}.",
        ) from None


def session_of(names: Names) -> SparkSession:
    return next(iter(names.sources.values())).frame.sparkSession


def compiled(
    pipeline: Pipeline, names: Names, control: str | Path | None, key_groups: int
) -> CompiledQuery:
    """Compiles a pipeline whose rows Python writes itself."""
    _reject_side_outputs_of_runs(pipeline)
    if control is not None:
        Path(control).mkdir(parents=True, exist_ok=True)
    tables = {name: table.frame for name, table in names.tables.items() if table.frame is not None}
    spark = session_of(names)
    sources: dict[str, DataFrame | DeferredFrame] = {
        name: source.frame for name, source in names.sources.items()
    }
    for source in declared_sources(pipeline):
        declared = [column.name for column in source.columns]
        columns = list(dict.fromkeys((*declared, *used_columns(pipeline.root, source))))
        opened = open_source(installed_connectors(), spark, source, Path.cwd(), columns)
        sources[source.name] = rows_of(opened, columns)
    return compile_query(
        spark,
        Query((pipeline,)),
        sources,
        engine=choose_engine(pipeline)[0],
        groups=key_groups,
        control=None if control is None else str(control),
        tables=FrameTables(spark, tables),
    )


def reject_late_output(pipeline: Pipeline) -> None:
    for operator in operators_of(pipeline.root):
        if operator.late.action is LateAction.SIDE_OUTPUT:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                "a DataFrame has no second output for late rows.",
                fix="Call .outputs() or .write(…) instead of .to_df(), or drop late rows.",
            )


def _reject_side_outputs_of_runs(pipeline: Pipeline) -> None:
    """Only a run (`Stream.write`) has an output for rejected rows."""
    if pipeline.errors.diverts:
        raise PlanError(
            "MS-PLAN-ON-ERROR",
            "a DataFrame has no dead-letter queue for rows for which an expression fails.",
            fix="Leave 'on.error' out, or run the query with .write(…).",
        )
    for source in sources_of(pipeline.root):
        if source.max_ahead:
            raise PlanError(
                "MS-PLAN-MAX-AHEAD",
                f"a DataFrame has no dead-letter queue for rows of {source.name} that are ahead "
                "of time.",
                fix="Leave max_ahead out and filter such rows, or run the query with .write(…).",
            )
    for table in reference_tables_of(pipeline.root):
        if isinstance(table.access, Lookup) and table.access.on_error is OnError.SIDE_OUTPUT:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                f"a DataFrame has no second output for failed lookups in {table.name}.",
                fix="Set 'lookup.on_error' to fail or null, or run the query with .write(…).",
            )


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of one query: its result, and late rows by the name of their side output.

    Example:
        >>> hourly = orders.window(ms.tumbling("1 hour"), late=ms.side_output("too_late"))
        >>> outputs = hourly.aggregate(total="sum(amount)").outputs()
        >>> outputs.names
        ('too_late',)
    """

    compiled_query: CompiledQuery
    pipeline: Pipeline

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the side outputs.

        Example:
            >>> hourly = orders.window(ms.tumbling("1 hour"), late=ms.side_output())
            >>> hourly.aggregate(total="sum(amount)").outputs().names
            ('late',)
        """
        return tuple(dict.fromkeys(name for _, name in self._late()))

    def write(self, rows: WriteBatch, **late: WriteBatch) -> DataStreamWriter:
        """Hands the outputs of every micro-batch to functions.

        Args:
            rows: Called with the result, a DataFrame, and the number of the batch. A batch that is
                retried comes again under its number.
            **late: A function of the same form for each side output.

        Returns:
            A writer; start it with `.start()`.

        Example:
            >>> hourly = orders.window(ms.tumbling("1 hour"), late=ms.side_output())
            >>> outputs = hourly.aggregate(total="sum(amount)").outputs()
            >>> writer = outputs.write(
            ...     rows=lambda frame, batch: frame.show(), late=lambda frame, batch: frame.show()
            ... )
        """
        missing = [name for name in self.names if name not in late]
        unknown = [name for name in late if name not in self.names]
        if missing or unknown:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                f"the side outputs are {', '.join(self.names) or 'none'}, and "
                + (f"{missing[0]} has no function." if missing else f"{unknown[0]} is not one."),
                fix=f"Give a function for each: write(rows=…, {missing[0]}=…)." if missing else "",
            )

        def write(frame: DataFrame, batch: int) -> None:
            assert isinstance(self.compiled_query.reader, OutputReader)
            caught = self.compiled_query.reader.batch(frame)
            # Whatever `rows` does with them, once or in part, the batch runs once and whole.
            main = caught.main.persist()
            main.count()
            side = caught.side()
            try:
                rows(main, batch)
            finally:
                main.unpersist()
            for number, name in self._late():
                found = [
                    (place, table) for (operator, place), table in side.late if operator == number
                ]
                if found:
                    operator = self.compiled_query.operators[number]
                    late[name](operator.late_rows(frame.sparkSession, found), batch)

        return self.compiled_query.stream.writeStream.foreachBatch(write)

    def _late(self) -> list[tuple[int, str]]:
        return [
            (number, operator.late.sink or "late")
            for number, operator in enumerate(operators_of(self.pipeline.root))
            if operator.late.action is LateAction.SIDE_OUTPUT
        ]
