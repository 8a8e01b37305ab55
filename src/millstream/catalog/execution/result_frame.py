"""Builds the DataFrame of a run. Reads only what the snapshot of the run records."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from millstream.catalog.execution.cardinality import check_cardinality
from millstream.catalog.execution.compile import CompiledOperation, compile_operation
from millstream.catalog.execution.loaders import load
from millstream.catalog.execution.operations import apply_assignments, apply_join, store_columns
from millstream.catalog.execution.validation import InvalidProjectError
from millstream.catalog.model import JoinDatasetSnapshot, Period, ResolverSnapshot
from millstream.errors import MillstreamError


def result_frame(spark: SparkSession, project: str, snapshot: ResolverSnapshot) -> DataFrame:
    """Returns the working dataset after all operations. Expected cardinalities are checked."""
    working = load(spark, snapshot.input, snapshot.period)
    for number, operation in enumerate(snapshot.operations):
        joins = [each for each in snapshot.join_datasets if each.operation == number]
        problems: list[MillstreamError] = []
        schemas = [[column.name for column in each.schema] for each in joins]
        table = snapshot.input.table_name
        compiled = compile_operation(operation, table, working.columns, schemas, problems)
        if problems:
            raise InvalidProjectError.of(project, problems)
        working = _apply(spark, working, compiled, joins, snapshot.period)
    return working


def _apply(
    spark: SparkSession,
    working: DataFrame,
    operation: CompiledOperation,
    joins: list[JoinDatasetSnapshot],
    period: Period,
) -> DataFrame:
    for join, dataset in zip(operation.joins, joins, strict=True):
        stored = store_columns(load(spark, dataset, period, join.columns), join)
        check_cardinality(working, stored, join, dataset.key)
        working = apply_join(working, stored, join)
    return apply_assignments(working, operation)
