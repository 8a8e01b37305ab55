"""Spark's analyzer verifies all queries of a job before one of them starts."""

from __future__ import annotations

import pytest
from tests.run.trial import Trial

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.run.analysis import analyze_queries

JOB = """
CREATE SOURCE numbers (n INT, k STRING, t TIMESTAMP, xs ARRAY<INT>, WATERMARK FOR t AS t)
  WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'json');
CREATE TABLE names (k STRING, name STRING)
  WITH ('connector' = 'file', 'path' = 'names.csv', 'format' = 'csv');
CREATE SINK good WITH ('connector' = 'file', 'path' = 'good', 'format' = 'json') AS
SELECT k, sum(n) AS total FROM numbers WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k;
CREATE SINK joined WITH ('connector' = 'file', 'path' = 'joined', 'format' = 'json') AS
SELECT n.k, m.name FROM numbers n JOIN names m ON n.k = m.k;
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = '{format}') AS
SELECT k,
  {expression} AS x FROM numbers;
"""


def analyze(spark, tmp_path, expression: str, file_format: str = "json") -> None:
    text = JOB.format(expression=expression, format=file_format)
    analyze_queries(spark, build_job(text), tmp_path / "checkpoint", tmp_path)


def test_a_job_is_analyzed_without_its_files(spark, tmp_path):
    analyze(spark, tmp_path, "upper(k)")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("expression", "file_format", "code", "line"),
    [
        ("array_max(n)", "json", "MS-PLAN-SPARK", 12),
        ("transform(xs, x -> x)", "csv", "MS-PLAN-CSV-TYPE", None),
    ],
)
def test_what_spark_or_a_sink_rejects_is_found(
    spark, tmp_path, expression, file_format, code, line
):
    with pytest.raises(PlanError) as caught:
        analyze(spark, tmp_path, expression, file_format)
    assert caught.value.code == code
    assert line is None or (caught.value.place and caught.value.place.line == line)


def test_no_query_of_a_run_starts_if_another_one_is_rejected(spark, tmp_path):
    trial = Trial(spark, tmp_path, JOB.format(expression="array_max(n)", format="json"))
    trial.add("numbers", "1.json", ['{"n": 1, "k": "a", "t": "2026-01-01T00:00:00Z"}'])
    (tmp_path / "names.csv").write_text("k,name\na,A\n")
    with pytest.raises(PlanError, match="MS-PLAN-SPARK at line 12, column 3"):
        trial.start()
    assert spark.streams.active == []
