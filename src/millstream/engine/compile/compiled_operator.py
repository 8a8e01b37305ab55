"""A compiled operator: its result and its side rows, in one plan of Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StringType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.work_items import CHANGE
from millstream.engine.compile.expressions import spark_column
from millstream.engine.compile.input_columns import NOTHING, Field
from millstream.engine.compile.stateless import StreamFrame, spark_errors
from millstream.engine.processor.late_output import (
    LATENESS_MS,
    QUERY,
    SOURCE,
    LateColumn,
    LateTable,
)
from millstream.engine.shuffle.column_names import MAIN, ORIGIN, PAYLOAD, ROW_KIND
from millstream.engine.shuffle.types import from_packet
from millstream.kernels.core.kernel import OP
from millstream.plan.expressions import Expression
from millstream.plan.expressions.spark_sql import quote


@dataclass(frozen=True, slots=True)
class LateInput:
    """An input whose late rows are an output: the name of its source, and the columns."""

    source: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """A predicate over both sides of a LEFT join; if it is not true, the right side is NULL."""

    predicate: Expression
    right: str  # the alias of the right side, which is a struct

    def apply(self, rows: DataFrame) -> DataFrame:
        is_match = F.coalesce(spark_column(self.predicate), F.lit(False))
        matched = F.when((F.col(ROW_KIND) == MAIN) & is_match, F.col(quote(self.right)))
        return rows.withColumn(self.right, matched)


@dataclass(frozen=True, slots=True)
class CompiledOperator:
    """A compiled operator.

    Attributes:
        number: The number of the operator in its query.
        raw: The DataFrame that the processor returns.
        visible_columns: The columns of the result, computed from those of `raw`.
        is_changelog: Whether results may be retracted.
        where: A predicate that only Spark can evaluate.
        match_filter: Decides which rows of a LEFT join have a match.
        late: The inputs whose late rows are an output.
    """

    number: int
    raw: DataFrame
    visible_columns: tuple[Column, ...]
    is_changelog: bool = False
    where: Expression | None = None
    match_filter: MatchFilter | None = None
    late: tuple[LateInput, ...] = ()

    def result_stream(self) -> StreamFrame:
        """The result with its side rows, as the next operator reads it."""
        op = [F.col(OP).alias(CHANGE)] if self.is_changelog else []
        rows = self.raw.select(*self.visible_columns, *op, ROW_KIND, ORIGIN, PAYLOAD)
        if self.where is not None:
            with spark_errors():
                rows = rows.where((F.col(ROW_KIND) != MAIN) | spark_column(self.where))
        if self.match_filter is not None:
            with spark_errors():
                rows = self.match_filter.apply(rows)
        return StreamFrame(
            DeferredFrame.of(rows),
            upstream=self.number,
            has_side_rows=True,
            is_changelog=self.is_changelog,
        )

    def late_rows(self, spark: SparkSession, found: list[tuple[int, pa.Table]]) -> DataFrame:
        """Returns late rows: columns of all inputs, the name of the source and the lateness."""
        frame = None
        for number, each in enumerate(self.late):
            tables = [table for source, table in found if source == number]
            rows = self._late_of(spark, each, tables)
            frame = rows if frame is None else frame.unionByName(rows, allowMissingColumns=True)
        assert frame is not None
        return frame

    def _late_of(self, spark: SparkSession, each: LateInput, tables: list[pa.Table]) -> DataFrame:
        unlike = self._names_of_two_types()
        columns = []
        for field in each.fields:
            if field.name == NOTHING:
                continue
            # Columns of one name and two types are written as text: a cast could change a value.
            kind: DataType = StringType() if field.name in unlike else field.type
            value = from_packet(field.packet_name, field.type) if tables else F.lit(None)
            columns.append(value.cast(kind).alias(field.name))
        lateness = F.expr("_lateness DIV 1000") if tables else F.lit(None)
        rows = spark.createDataFrame(pa.concat_tables(tables)) if tables else spark.range(0)
        return rows.select(
            *columns,
            F.lit(each.source).alias("_source"),
            lateness.cast("bigint").alias("_lateness_ms"),
        )

    def _names_of_two_types(self) -> set[str]:
        fields = [field for each in self.late for field in each.fields]
        types = {field.name: field.type for field in fields}
        return {field.name for field in fields if types[field.name] != field.type}


def late_tables(
    operators: Iterable[CompiledOperator],
    sharing: Iterable[CompiledOperator] = (),
    query: str | None = None,
) -> dict[tuple[int, int], LateTable]:
    """Returns the late rows of operators that write to one sink, by operator and input.

    A column that has two types is text: a cast could change a value.

    Args:
        operators: Of one query.
        sharing: The operators of all queries that write to the sink, if there are several.
        query: The name of the query, for a sink of several queries.
    """
    own = tuple(operators)
    types: dict[str, pa.DataType] = {}
    writers = tuple(sharing) or own
    for field in (field for each in writers for late in each.late for field in late.fields):
        if field.name != NOTHING:
            kind = _arrow(field.type)
            types[field.name] = kind if types.get(field.name, kind) == kind else pa.string()
    added = [(QUERY, pa.string())] if query is not None else []
    schema = pa.schema([*types.items(), (SOURCE, pa.string()), *added, (LATENESS_MS, pa.int64())])
    return {
        (operator.number, place): LateTable(late.source, _columns(late), schema, query or "")
        for operator in own
        for place, late in enumerate(operator.late)
    }


def _columns(late: LateInput) -> tuple[LateColumn, ...]:
    return tuple(
        LateColumn(field.packet_name, field.name, _arrow(field.type))
        for field in late.fields
        if field.name != NOTHING
    )


def _arrow(kind: DataType) -> pa.DataType:
    return to_arrow_type(kind, timezone="UTC")
