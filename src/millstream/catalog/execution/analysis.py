"""Checks the types of expressions with Spark's analyzer, on empty DataFrames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from millstream.catalog.execution.compile import (
    ASSIGNMENT,
    CONDITION,
    CompiledAssignment,
    CompiledExpression,
    CompiledOperation,
    compile_problem,
)
from millstream.catalog.execution.loaders import ddl
from millstream.catalog.execution.operations import apply_assignments, store_columns
from millstream.catalog.model import Column
from millstream.errors import MillstreamError
from millstream.spark.texts import spark_column

_CLASS = re.compile(r"^\[[A-Z0-9_.]+\] ")
_END = re.compile(r" SQLSTATE: [0-9A-Z]{5}.*$", re.DOTALL)


def check_types(
    spark: SparkSession,
    working: Sequence[Column],
    operations: Sequence[tuple[CompiledOperation, Sequence[Sequence[Column] | None]]],
    problems: list[MillstreamError],
) -> None:
    """Adds a problem for each expression that Spark's analyzer rejects."""
    frame = _empty(spark, working)
    for operation, schemas in operations:
        for join, schema in zip(operation.joins, schemas, strict=True):
            frame = frame.join(store_columns(_empty(spark, schema or ()), join))
            if join.condition is not None:
                reason = _rejection(frame, join.condition, boolean=True)
                if reason is not None:
                    place = join.join.positions.of("on")
                    problems.append(compile_problem(CONDITION, reason, place))
        checked = [_checked(frame, each, problems) for each in operation.assignments]
        frame = apply_assignments(frame, replace(operation, assignments=tuple(checked)))


def _checked(
    frame: DataFrame, assignment: CompiledAssignment, problems: list[MillstreamError]
) -> CompiledAssignment:
    """Returns the assignment, without its expression if Spark rejects it."""
    if assignment.expression is None:
        return assignment
    reason = _rejection(frame, assignment.expression)
    if reason is None:
        return assignment
    place = assignment.assignment.positions.of("expression")
    problems.append(compile_problem(ASSIGNMENT, reason, place))
    return replace(assignment, expression=None)


def _rejection(
    frame: DataFrame, expression: CompiledExpression, *, boolean: bool = False
) -> str | None:
    """Returns why Spark rejects an expression; None if it does not."""
    try:
        # Beside another column, an aggregate function is an error.
        value = spark_column(expression.resolved).alias("value")
        kind = frame.select("*", value).schema[-1].dataType
    except PySparkException as error:
        text = str(error).split("\n\n", 1)[0].split(";\n", 1)[0]
        return _END.sub("", _CLASS.sub("", " ".join(text.split())))
    if boolean and kind.typeName() != "boolean":
        return f"it is {kind.simpleString()}, not boolean."
    return None


def _empty(spark: SparkSession, columns: Sequence[Column]) -> DataFrame:
    return spark.createDataFrame([], ddl(columns) or "_none INT")
