"""A dataset as the table of a streaming job: the version is chosen once and kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import NEW_RATES, MonthEnd
from tests.cli.jobs import command

from millstream.catalog.model import Status
from millstream.catalog.store.open import open_catalog
from millstream.catalog.stream_tables import StreamTables
from millstream.errors import CatalogError, ProjectRunError, StateError
from millstream.run.dataset_versions import recorded_versions

SQL = """
CREATE SOURCE orders (id STRING, currency STRING)
  WITH ('connector' = 'file', 'path' = 'in', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'result', 'format' = 'csv') AS
SELECT o.id, fx.rate FROM orders o
JOIN CATALOG.fx{version} ON o.currency = fx.from_currency
  AND fx.to_currency = 'USD' AND fx._period = '2026-01';
"""


def order(base: Path, name: str) -> None:
    (base / "in").mkdir(exist_ok=True)
    (base / "in" / f"{name}.csv").write_text(f"id,currency\n{name},EUR\n")


def run(base: Path, version: str = "", *options: str) -> None:
    job = base / "job.sql"
    job.write_text(SQL.format(version=version))
    done = command("run", job, "--once", "--quiet", "--catalog", base / "catalog.db", *options)
    assert done.exit_code == 0, done.output


def result(base: Path) -> dict[str, float]:
    rows = [row for path in (base / "result").rglob("*.csv") for row in csv.reader(path.open())]
    return {row[0]: float(row[1]) for row in rows if row[0] != "id"}


def test_a_job_keeps_its_version_when_it_is_started_again(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    base = month_end.base
    order(base, "A")
    run(base)
    month_end.publish("fx", NEW_RATES)
    order(base, "B")
    run(base)
    assert result(base) == {"A": 1.5, "B": 1.5}
    (recorded,) = base.rglob("catalog.json")
    assert json.loads(recorded.read_text()) == {"fx": 1}
    run(base, "", "--fresh")
    assert result(base) == {"A": 3.0, "B": 3.0}
    assert json.loads(recorded.read_text()) == {"fx": 2}


def test_a_version_that_the_job_names_is_read(spark: SparkSession, month_end: MonthEnd) -> None:
    month_end.publish("fx", NEW_RATES)
    order(month_end.base, "A")
    run(month_end.base, " FOR VERSION AS OF 1")
    assert result(month_end.base) == {"A": 1.5}


def test_explain_shows_the_dataset_and_errors_name_the_place(month_end: MonthEnd) -> None:
    base = month_end.base
    job = base / "job.sql"
    (base / "in").mkdir()
    job.write_text(SQL.format(version=" FOR VERSION AS OF 1"))
    done = command("explain", job, "--catalog", base / "catalog.db")
    assert done.exit_code == 0, done.output
    assert "CATALOG.fx.v1" in done.stdout
    job.write_text(SQL.format(version=" FOR VERSION AS OF 9"))
    done = command("explain", job, "--catalog", base / "catalog.db")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"MS-CATALOG-UNKNOWN at {job}, line 6, column 6\n")
    assert "the dataset fx has no version 9.\nFix: It has versions 1 to 1." in done.stderr


def test_a_disabled_dataset_and_a_changed_file_are_errors(month_end: MonthEnd) -> None:
    tables = StreamTables(lambda: open_catalog(month_end.base / "catalog.db"))
    assert tables("fx", None).properties[:2] == (
        ("connector", "file"),
        ("path", str(month_end.base / "data/fx/v1.parquet")),
    )
    assert tables.chosen == {"fx": 1}
    path = month_end.base / "data/fx/v1.parquet"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ProjectRunError, match="MS-PROJECT-FILE-CHANGED"):
        tables("fx", 1)
    month_end.catalog.writer.set_dataset_status(month_end.ids["fx"], Status.DISABLED)
    with pytest.raises(CatalogError, match="MS-CATALOG-DISABLED"):
        tables("fx", None)


def test_versions_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    assert recorded_versions(tmp_path) == {}
    (tmp_path / "catalog.json").write_text("[1]")
    with pytest.raises(StateError, match="MS-STATE-CATALOG"):
        recorded_versions(tmp_path)
