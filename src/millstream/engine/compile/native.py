"""The native engine: the same plan on Spark's own operators and Spark's own watermark.

Spark counts a row at its watermark as late and keeps time in milliseconds, so delays are a
millisecond longer here: a row at the watermark is in time on both engines. The end of input is a
row without a key at the end of time, on every source: it moves the watermark past all state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from millstream.connectors.dead_letters import BAD, REMEDY
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.row_errors import raise_error
from millstream.engine.compile.aggregate_functions import call_expression
from millstream.engine.compile.expressions import spark_column
from millstream.engine.compile.stateless import (
    StreamFrame,
    compile_stream,
    fail_on_malformed,
    source_of,
    spark_errors,
)
from millstream.engine.shuffle.control_stream import ControlStream, end_rows
from millstream.errors import PlanError
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Aggregate,
    Input,
    IntervalJoin,
    Node,
    Operator,
    Select,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.temporal import MalformedAction, MissingTime, Window, WindowKind
from millstream.values import JoinType

Sources = Mapping[str, DataFrame]

_WATERMARK = "spark.watermarkDelayMs"  # in the metadata of an event time
_END = "TIMESTAMP '9999-01-01 00:00:00'"
READ = "read"  # begins the names under which a query's progress counts the rows of sources
_HOW = {
    JoinType.INNER: "inner",
    JoinType.LEFT: "left",
    JoinType.RIGHT: "right",
    JoinType.FULL: "full",
    JoinType.SEMI: "left_semi",
}


def compile_operator(
    node: Operator,
    sources: Sources,
    *,
    control: ControlStream | None,
) -> DataFrame:
    """Returns the result of an operator, as the SELECT above it reads it."""
    return COMPILERS[type(node)](node, sources, control)


def _aggregate(
    node: Aggregate,
    sources: Sources,
    control: ControlStream | None,
) -> DataFrame:
    """Windows of Spark. A window is emitted once, when the watermark reaches its end."""
    rows = _input(node.input, sources, control).alias(node.input.alias)
    assert node.window is not None
    time = F.col(f"`{node.input.time}`")
    with spark_errors():
        window = _spark_window(time, node.window).alias(_WINDOW)
        keys = [spark_column(key.expression).alias(key.name) for key in node.keys]
        calls = [spark_column(call_expression(call)).alias(call.name) for call in node.calls]
        # For a GROUP BY without an aggregate function, Spark needs one.
        grouped = rows.groupBy(window, *keys).agg(*calls, F.count(F.lit(1)).alias("_rows"))
    start, end = F.col(f"{_WINDOW}.start"), F.col(f"{_WINDOW}.end")
    return grouped.where(end < F.expr(_END)).select(
        *(F.col(key.name) for key in node.keys),
        start.alias(WINDOW_START),
        end.alias(WINDOW_END),
        (end - F.expr("INTERVAL '0.000001' SECOND")).alias(WINDOW_TIME),
        *(F.col(call.name) for call in node.calls),
    )


_WINDOW = "_ms_window"


def _spark_window(time: Column, window: Window) -> Column:
    def span(micros: int) -> str:
        return f"{micros} microseconds"

    if window.kind is WindowKind.SESSION:
        return F.session_window(time, span(window.size))
    offset = span(window.offset) if window.offset else None
    slide = window.size if window.kind is WindowKind.TUMBLING else window.slide
    return F.window(time, span(window.size), span(slide), offset)


def _join(
    node: IntervalJoin,
    sources: Sources,
    control: ControlStream | None,
) -> DataFrame:
    """The joined rows: one struct column for each side, named by its alias."""
    sides = []
    for side in (node.left, node.right):
        rows = _input(side, sources, control)
        sides.append(
            rows.select(
                F.col(f"`{side.time}`").alias(_time(side.alias)),
                _struct(rows, side.alias, side.time or ""),
            )
        )
    left_time, right_time = _time(node.left.alias), _time(node.right.alias)
    condition = _between(left_time, right_time, node)
    for key in node.keys:
        left, right = spark_column(key.left), spark_column(key.right)
        # In a full outer stream-stream join of Spark, two NULL keys are equal.
        condition = condition & (left == right) & left.isNotNull() & right.isNotNull()
    for predicate in (node.left_where, node.right_where, node.across_sql):
        if predicate is not None:
            condition = condition & spark_column(predicate)
    with spark_errors():
        joined = sides[0].join(sides[1], condition, _HOW[node.how])
        ended = F.lit(False)
        for time in (left_time, right_time)[: 1 if node.how.left_only else 2]:
            ended = ended | F.coalesce(F.col(time) >= F.expr(_END), F.lit(False))
        shown = [node.left.alias] if node.how.left_only else [node.left.alias, node.right.alias]
        return joined.where(~ended).select(*shown)


# The kinds of operators that Spark has; `against_native` gives the reason for the others.
COMPILERS: dict[type[Operator], Callable[[Any, Sources, ControlStream | None], DataFrame]] = {
    IntervalJoin: _join,
    Aggregate: _aggregate,
}


def _input(
    side: Input,
    sources: Sources,
    control: ControlStream | None,
) -> DataFrame:
    source = source_of(side.node)
    assert source is not None, "the native engine runs one operator"
    frame = _timed(source, sources[source.name], side.delay, control)
    return compile_stream(
        side.node, {source.name: DeferredFrame.of(frame)}, _no_operator
    ).data_rows()


def _no_operator(node: Operator | TableJoin) -> StreamFrame:
    raise TypeError(f"the native engine runs one operator, not {type(node).__name__} below it")


def _time(alias: str) -> str:
    return f"_time_{alias}"


def _struct(rows: DataFrame, alias: str, time: str) -> Column:
    """The columns of a side. In Spark, a field of the event time would be one, too, and the side
    would have two: of a column that is computed, it is none."""
    columns = []
    for field in rows.schema:
        value = F.col(f"`{field.name}`")
        if field.name == time and isinstance(field.dataType, TimestampType):
            value = F.timestamp_micros(F.unix_micros(value)).alias(field.name)
        columns.append(value)
    return F.struct(*columns).alias(alias)


def _between(left: str, right: str, node: IntervalJoin) -> Column:
    lower, upper = (
        f"`{left}` + INTERVAL '{bound / 1_000_000:.6f}' SECOND"
        for bound in (node.bounds.lower, node.bounds.upper)
    )
    return F.expr(f"`{right}` >= {lower} AND `{right}` <= {upper}")


def _timed(
    source: Source, frame: DataFrame, delay: int, control: ControlStream | None
) -> DataFrame:
    """The source with Spark's watermark. Rows without an event time are skipped or fail the job."""
    _reject_second_watermark(source, frame)
    time = F.col(f"`{source.time}`")
    frame = frame.observe(f"{READ} {source.name}", F.count(F.lit(1)).alias(READ))
    if BAD in frame.columns:
        frame = _without_malformed(source, frame)
    if source.missing_time is MissingTime.ERROR:
        failed = raise_error(
            "MS-RUN-MISSING-TIME",
            f"source {source.name} holds a row without an event time.",
            fix="Set 'event.missing' = 'skip' to leave such rows out (counted), or 'wall_clock'.",
        )
        frame = frame.withColumn(source.time or "", F.when(time.isNull(), failed).otherwise(time))
    elif source.missing_time is MissingTime.SKIP:
        frame = frame.where(time.isNotNull())
    if control is not None:
        end = end_rows(control).select(
            *(
                (F.expr(_END) if field.name == source.time else F.lit(None))
                .cast(field.dataType)
                .alias(field.name)
                for field in frame.schema
            )
        )
        frame = frame.unionByName(end)
    return _with_watermark(frame, source.time or "", delay)


def _reject_second_watermark(source: Source, frame: DataFrame) -> None:
    """Rejects a DataFrame with a watermark of Spark: Spark has no second one above it, and a row at
    the first one would be late."""
    if any(_WATERMARK in (field.metadata or {}) for field in frame.schema):
        raise PlanError(
            "MS-PLAN-ENGINE",
            f"the native engine sets the watermark of {source.name}, and its DataFrame has one of "
            "withWatermark, which Spark does not allow to change.",
            fix="Remove withWatermark, and name event time and delay in "
            "millstream.stream(frame, time='…', delay='…'), or set the engine 'columnar'.",
        )


def _without_malformed(source: Source, frame: DataFrame) -> DataFrame:
    """Fails at a malformed record: operators of Spark have no second output for it."""
    if source.malformed is MalformedAction.FAIL:
        return fail_on_malformed(source, frame, REMEDY)
    return fail_on_malformed(
        source,
        frame,
        "The native engine has no dead-letter queue: set 'engine' = 'columnar', or correct the "
        "input.",
    )


def _with_watermark(frame: DataFrame, time: str, delay: int) -> DataFrame:
    """Spark's watermark, with a column above it that no filter can be moved past.

    Spark moves filters below a watermark, and makes some of its own (a key that is not NULL). There
    they would drop the row that marks the end of input, and other rows that move the watermark.
    """
    marked = frame.withWatermark(time, f"{delay // 1000 + 1} milliseconds")
    return marked.withColumn("_any", F.rand()).where("_any >= 0").drop("_any")


def compile_native(
    root: Node, sources: Mapping[str, DeferredFrame], control: ControlStream | None
) -> StreamFrame:
    """Compiles a node over one operator of Spark."""
    frames = {name: rows.frame for name, rows in sources.items()}

    def result(node: Operator | TableJoin) -> StreamFrame:
        assert not isinstance(node, TableJoin), "the native engine joins no tables"
        return StreamFrame(DeferredFrame.of(compile_operator(node, frames, control=control)))

    assert not isinstance(root, UnionAll), "the branches of a UNION ALL are compiled one by one"
    return (
        compile_stream(root, sources, result) if isinstance(root, Source | Select) else result(root)
    )
