"""Everything that planning rejects because of its type is rejected by Spark, too."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from scripts.spark_functions import function_names
from tests.plan.expressions.test_type_check import TYPES

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.expressions.functions import spark_functions

COLUMNS = {
    "n": "BIGINT",
    "s": "STRING",
    "flag": "BOOLEAN",
    "day": "DATE",
    "t": "TIMESTAMP",
    "bytes": "BINARY",
    "xs": "ARRAY<INT>",
    "tags": "MAP<STRING, INT>",
    "point": "STRUCT<x: INT, y: INT>",
}
FORMS = [
    *("{a} + {b}", "{a} * {b}", "{a} = {b}", "{a} AND flag", "-{a}", "CASE WHEN {a} THEN 1 END"),
    *("abs({a})", "upper({a})", "hour({a})", "size({a})", "timestamp_millis({a})"),
    *("CASE WHEN flag THEN {a} ELSE {b} END", "coalesce({a}, {b})", "if(flag, {a}, {b})"),
    *("{a}[0]", "CAST({a} AS INT)", "CAST({a} AS DATE)", "CAST({a} AS BOOLEAN)"),
    *("CAST({a} AS TIMESTAMP)", "CAST({a} AS STRING)", "CAST({a} AS ARRAY<INT>)"),
]


def is_rejected(expression: str) -> bool:
    try:
        build_job(TYPES.format(f"{expression} AS x FROM typed"))
    except PlanError:
        return True
    return False


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_planning_rejects_is_rejected_by_spark(spark, ansi):
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    typed = session.createDataFrame([], ", ".join(f"{n} {kind}" for n, kind in COLUMNS.items()))
    found = {
        form.format(a=a, b=b)
        for form in FORMS
        for a in COLUMNS
        for b in (COLUMNS if "{b}" in form else ("",))
        if not b or a <= b
    }
    rejected = [each for each in sorted(found) if is_rejected(each)]
    assert len(rejected) > 200
    accepted = []
    # Spark reports the first of several errors, so each expression is analyzed alone.
    for expression in rejected:
        try:
            typed.selectExpr(expression)
        except AnalysisException:
            continue
        accepted.append(expression)
    assert accepted == []


def test_the_list_of_functions_is_that_of_spark(spark):
    assert spark_functions() == set(function_names(spark))
