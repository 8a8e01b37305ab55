"""Datasets of a catalog in test files: their rows are inputs, and no catalog is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.jobs import command

from millstream.errors import MillstreamError
from millstream.testing.case import ENGINES, Case
from millstream.testing.load import load_file
from millstream.testing.runner import judge
from millstream.testing.sources import case_job
from millstream.testing.spark_runner import SparkRunner

ORDERS = """
  orders:
    schema: {id: string, currency: string, t: timestamp}
    watermark: {column: t}
    rows:
      - {id: A, currency: EUR, t: "2026-01-15T10:00:00Z"}
      - {id: B, currency: CHF, t: "2026-01-15T11:00:00Z"}
"""
BROADCAST = f"""
name: two versions of a dataset
sql: |
  CREATE SINK out AS
  SELECT o.id, fx.rate, old.rate AS before
  FROM orders o
  LEFT JOIN CATALOG.fx ON o.currency = fx.currency
  LEFT JOIN CATALOG.fx FOR VERSION AS OF 3 AS old ON o.currency = old.currency
inputs:{ORDERS}
  catalog.FX:
    schema: {{currency: string, rate: "decimal(10, 2)"}}
    rows: [{{currency: EUR, rate: 1.10}}]
  CATALOG.fx.v3:
    schema: {{currency: string, rate: "decimal(10, 2)"}}
    rows: [{{currency: EUR, rate: 1.05}}]
expect:
  out:
    rows:
      - {{id: A, rate: 1.10, before: 1.05}}
      - {{id: B, rate: null, before: null}}
"""
AS_OF = f"""
name: rates of a dataset that are valid at the time of an order
sql: |
  CREATE TABLE rates (currency STRING, rate DOUBLE, since TIMESTAMP,
    PRIMARY KEY (currency), WATERMARK FOR since AS since)
    WITH ('catalog.dataset' = 'fx', 'catalog.version' = '2');
  CREATE SINK out AS SELECT o.id, r.rate
  FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.t r ON o.currency = r.currency
inputs:{ORDERS}
  rates:
    rows:
      - {{currency: EUR, rate: 1.5, since: "2026-01-01T00:00:00Z"}}
      - {{currency: EUR, rate: 2.5, since: "2026-01-16T00:00:00Z"}}
expect:
  out:
    rows: [{{id: A, rate: 1.5}}]
"""
BITEMPORAL = f"""
name: a left join with the rates that are valid on a day
sql: |
  CREATE SINK out AS
  SELECT o.id, fx.rate FROM orders o
  LEFT JOIN CATALOG.fx ON o.currency = fx.currency AND fx.since <= DATE '2026-01-01'
    AND (fx.until IS NULL OR DATE '2026-01-01' < fx.until)
inputs:{ORDERS}
  CATALOG.fx:
    schema: {{currency: string, rate: double, since: date, until: date}}
    rows:
      - {{currency: EUR, rate: 1.1, since: 2025-01-01, until: 2026-01-01}}
      - {{currency: EUR, rate: 1.2, since: 2026-01-01, until: 2026-01-02}}
      - {{currency: EUR, rate: 1.3, since: 2026-01-02}}
      - {{currency: EUR, rate: 1.4, since: 2026-01-01}}
      - {{currency: CHF, rate: 1.5, since: 2026-01-02}}
expect:
  out:
    rows: [{{id: A, rate: 1.2}}, {{id: A, rate: 1.4}}, {{id: B, rate: null}}]
"""


def case_of(text: str, folder: Path) -> Case:
    path = folder / "a.test.yaml"
    path.write_text(text)
    (case,) = load_file(path)
    return case


@pytest.mark.parametrize(
    ("text", "engines"),
    [
        (BROADCAST, ("columnar", "native")),
        (BITEMPORAL, ("columnar", "native")),
        (AS_OF, ("columnar",)),
    ],
)
def test_the_rows_of_a_dataset_are_an_input(
    spark: SparkSession, tmp_path: Path, text: str, engines: tuple[str, ...]
) -> None:
    case = case_of(text, tmp_path)
    passed = []
    for engine in ENGINES:
        verdict, detail = judge(case, SparkRunner(spark).run(case, engine))
        assert verdict != "failed", detail
        passed += [engine] if verdict == "passed" else []
    assert tuple(passed) == engines


def test_an_input_without_a_version_is_that_of_every_version(tmp_path: Path) -> None:
    text = BROADCAST.replace("CATALOG.fx.v3:", "CATALOG.other:")
    job = case_job(case_of(text, tmp_path))
    assert [pipeline.name for pipeline in job.pipelines] == ["out"]


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (
            BROADCAST,
            "catalog.FX:",
            "CATALOG.fy:",
            "MS-TEST-INPUT at line 4, column 11: the job reads the dataset CATALOG.fx, and the "
            "test case has no input for it. Add it to inputs: CATALOG.fx: {schema: {column: type, "
            "…}, rows: […]}",
        ),
        (
            BROADCAST,
            '    schema: {currency: string, rate: "decimal(10, 2)"}\n    rows: [{currency: EUR, '
            "rate: 1.10}]",
            "    rows: []",
            "MS-TEST-VALUE at line 4, column 11: the input CATALOG.fx of 'two versions of a "
            "dataset' has no schema. List the columns of the dataset under schema: test cases "
            "do not read a catalog.",
        ),
        (
            AS_OF,
            "  rates:\n",
            "  others:\n",
            "MS-TEST-INPUT at line 3, column 29: the job reads the dataset rates, and the test "
            "case has no input for it. Add it to inputs: rates: {rows: […]}",
        ),
        (
            BROADCAST,
            "rows: [{currency: EUR, rate: 1.10}]",
            "batches: [[], []]",
            "MS-TEST-VALUE: the input catalog.FX of 'two versions of a dataset' is a dataset, and "
            "a version of a dataset does not change between micro-batches. Use rows "
            "or file instead of batches.",
        ),
        (
            BROADCAST,
            "rows: [{currency: EUR, rate: 1.10}]",
            "rows: []\n    watermark: {column: rate}",
            "MS-TEST-VALUE: the input catalog.FX of 'two versions of a dataset' is a dataset, "
            "which has no watermark. Remove watermark and idle. For a versioned table, use "
            "CREATE TABLE with 'catalog.dataset', PRIMARY KEY and WATERMARK in the SQL.",
        ),
    ],
)
def test_a_dataset_that_is_not_given_right_is_an_error(
    tmp_path: Path, text: str, old: str, new: str, message: str
) -> None:
    assert old in text
    with pytest.raises(MillstreamError) as caught:
        case_job(case_of(text.replace(old, new), tmp_path))
    assert str(caught.value) == message


def test_the_command_names_the_place_of_a_dataset_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.test.yaml"
    path.write_text(BROADCAST.replace("catalog.FX:", "CATALOG.fy:"))
    done = command("test", path)
    assert done.exit_code == 1
    assert "MS-TEST-INPUT at line 4, column 11: the job reads the dataset CATALOG.fx" in done.output
