"""Errors that only a run on Spark meets."""

from __future__ import annotations

import pytest
from tests.run.trial import Trial

from millstream.connectors.file.sink import FileSink
from millstream.errors import PlanError, RunError

JOB = """
CREATE SOURCE numbers (n INT) WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT {expression} AS n FROM numbers;
"""


def test_a_call_that_spark_rejects_is_reported_with_its_place(spark, tmp_path):
    trial = Trial(spark, tmp_path, JOB.format(expression="array_max(n)"))
    trial.add("numbers", "1.csv", ["n", "1"])
    with pytest.raises(PlanError) as caught:
        trial.start()
    assert caught.value.code == "MS-PLAN-SPARK"
    assert "array_max" in caught.value.cause
    assert caught.value.place is not None
    assert caught.value.place.line == 4


def test_a_sink_that_cannot_be_written_is_reported_with_the_reason(spark, tmp_path, monkeypatch):
    def write(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(FileSink, "commit", write)
    trial = Trial(spark, tmp_path, JOB.format(expression="n"))
    trial.add("numbers", "1.csv", ["n", "1"])
    with pytest.raises(RunError) as caught:
        trial.once()
    assert caught.value.code == "MS-RUN-SINK"
    assert caught.value.cause == (
        "a sink of out could not be written: [Errno 5] Input/output error."
    )
