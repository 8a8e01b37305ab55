"""Result types that are known without Spark equal those of Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.types import LongType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.engine.compile import aggregate_functions as calls
from millstream.engine.compile.expressions import types_of
from millstream.plan.expressions import Expression, column
from millstream.plan.expressions.parse import parse_expression
from millstream.plan.nodes import Call

COLUMNS = (
    "b TINYINT, h SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10, 2), s STRING, "
    "o BOOLEAN, y DATE, t TIMESTAMP, n TIMESTAMP_NTZ"
)
NAMES = [each.split()[0] for each in COLUMNS.replace("(10, 2)", "").split(", ")]


@pytest.mark.parametrize("function", ["min", "max", "sum", "avg", "count", "stddev_samp", "last"])
def test_types_are_those_that_spark_gives(spark, monkeypatch, function) -> None:
    frame = spark.createDataFrame([], COLUMNS)
    numbers = [name for name in NAMES if name in "bhilfdm"]
    names = numbers if function in ("sum", "avg", "stddev_samp") else NAMES
    requested_calls = tuple(
        Call(function, column(None, name), f"a{at}") for at, name in enumerate(names)
    )
    known = {column(None, name): frame.schema[name].dataType for name in names}
    known_types = calls.result_types(DeferredFrame.of(frame), "t", requested_calls, known)
    monkeypatch.setattr(calls, "_known_type", lambda *_: None)
    assert known_types == calls.result_types(DeferredFrame.of(frame), "t", requested_calls, known)


def test_spark_is_asked_only_for_what_is_not_plain(spark, monkeypatch) -> None:
    frame = spark.createDataFrame([], COLUMNS)
    values = [parse_expression(text) for text in ("i", "i + 1", "m")]
    known = dict(zip(values, types_of(DeferredFrame.of(frame), "frame", values), strict=True))
    spoken: list[str] = []
    compiled = calls.call_expression

    def fail(call: Call) -> Expression:
        spoken.append(str(call.argument))
        return compiled(call)

    monkeypatch.setattr(calls, "call_expression", fail)
    requested_calls = tuple(Call("sum", each, f"a{at}") for at, each in enumerate(values))
    types = calls.result_types(DeferredFrame.of(frame), "t", requested_calls, known)
    assert spoken == ["m"]
    assert types[:2] == [LongType(), LongType()]
    assert types[2].simpleString() == "decimal(20,2)"
