"""Checks the types of expressions with Spark's analyzer, on empty DataFrames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.catalog.execution.compile import (
    ASSIGNMENT,
    CONDITION,
    CompiledAssignment,
    CompiledExpression,
    CompiledOperation,
    compile_problem,
    nondeterministic_problem,
)
from millstream.catalog.execution.loaders import ddl
from millstream.catalog.execution.operations import apply_assignments, store_columns
from millstream.catalog.model import Column
from millstream.engine.compile.expressions import spark_column
from millstream.errors import MillstreamError, Place, ProjectError

_CLASS = re.compile(r"^\[[A-Z0-9_.]+\] ")
_AGGREGATE = ("MISSING_GROUP_BY", "MISSING_AGGREGATION")
_END = re.compile(r" SQLSTATE: [0-9A-Z]{5}.*$", re.DOTALL)


def check_types(
    spark: SparkSession,
    working: Sequence[Column],
    operations: Sequence[tuple[CompiledOperation, Sequence[Sequence[Column] | None]]],
    problems: list[MillstreamError],
) -> None:
    """Adds a problem for each expression that Spark's analyzer rejects, or that is not
    deterministic in its view."""
    frame = _empty(spark, working)
    for operation, schemas in operations:
        for join, schema in zip(operation.joins, schemas, strict=True):
            frame = frame.join(store_columns(_empty(spark, schema or ()), join))
            if join.condition is not None:
                place = join.join.positions.of("on")
                _check(frame, join.condition, CONDITION, place, problems)
        checked = [_check_assignment(frame, each, problems) for each in operation.assignments]
        frame = apply_assignments(frame, replace(operation, assignments=tuple(checked)))


def _check_assignment(
    frame: DataFrame, assignment: CompiledAssignment, problems: list[MillstreamError]
) -> CompiledAssignment:
    """Returns the assignment, without its expression if Spark rejects it."""
    place = assignment.assignment.positions.of("expression")
    expression = assignment.expression
    if expression is None or _check(frame, expression, ASSIGNMENT, place, problems):
        return assignment
    return replace(assignment, expression=None)


def _check(
    frame: DataFrame,
    expression: CompiledExpression,
    what: str,
    place: Place | None,
    problems: list[MillstreamError],
) -> bool:
    value = spark_column(expression.resolved)
    try:
        # Beside another column, an aggregate function is an error.
        kind = frame.select("*", value.alias("value")).schema[-1].dataType
    except PySparkException as error:
        problems.append(_problem(error, what, place))
        return False
    if what == CONDITION and kind.typeName() != "boolean":
        cause = f"it is {kind.simpleString()}, not boolean."
        fix = "Write a condition, such as a comparison of two columns."
        problems.append(compile_problem(what, cause, place, fix))
        return False
    one = frame.sparkSession.range(1).select(F.lit(1).alias("_millstream_one"))
    try:
        # The condition of a join is where Spark rejects all that is not deterministic.
        frame.join(one, value.isNull()).schema  # noqa: B018 -- analyses it
    except PySparkException as error:
        problem = _problem(error, what, place)  # such as explode
        if error.getCondition() == "INVALID_NON_DETERMINISTIC_EXPRESSIONS":
            problem = nondeterministic_problem(expression.parsed.text, what, place)
        problems.append(problem)
        return False
    return True


def _problem(error: PySparkException, what: str, place: Place | None) -> ProjectError:
    """Returns what Spark's analyzer reports about an expression. It analyzes a query of its own, so
    some of its texts would not help."""
    condition, parameters = error.getCondition(), error.getMessageParameters() or {}
    if condition in _AGGREGATE:
        cause = "it has an aggregate function, and the value of each row is computed on its own."
        return compile_problem(what, cause, place, "Publish a dataset with the aggregates.")
    if condition == "UNRESOLVED_ROUTINE":
        name = parameters.get("routineName", "").replace("`", "")
        fix = "Use a function of Spark SQL."
        return compile_problem(what, f"there is no function {name}.", place, fix)
    return compile_problem(what, _reason(error), place)


def _reason(error: PySparkException) -> str:
    text = str(error).split("\n\n", 1)[0].split(";\n", 1)[0]
    return _END.sub("", _CLASS.sub("", " ".join(text.split())))


def _empty(spark: SparkSession, columns: Sequence[Column]) -> DataFrame:
    return spark.createDataFrame([], ddl(columns) or "_none INT")
