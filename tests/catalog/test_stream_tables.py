"""A dataset as the table of a streaming job: the version is chosen once and recorded."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import NEW_RATES, MonthEnd
from tests.cli.jobs import command

from millstream.catalog.catalog import Catalog
from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.model import Definitions, ResolverRef, Status
from millstream.catalog.store.open import open_catalog
from millstream.catalog.stream_tables import StreamTables
from millstream.errors import CatalogError, ProjectError, ProjectRunError, StateError
from millstream.run.dataset_versions import DatasetVersions, record_versions, recorded_versions

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
    explained = command("explain", base / "job.sql", "--catalog", base / "catalog.db")
    assert explained.stdout.endswith("\ndataset fx version 1\n")
    (recorded,) = base.rglob("catalog.json")
    assert json.loads(recorded.read_text()) == {"chosen": {"fx": 1}, "pinned": {}}
    run(base, "", "--fresh")
    assert result(base) == {"A": 3.0, "B": 3.0}
    assert json.loads(recorded.read_text()) == {"chosen": {"fx": 2}, "pinned": {}}


def test_a_job_goes_on_if_the_latest_version_is_damaged_or_the_dataset_disabled(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    base = month_end.base
    order(base, "A")
    run(base)
    month_end.publish("fx", NEW_RATES)
    (base / "data/fx/v2.parquet").write_bytes(b"damaged")
    month_end.catalog.writer.set_dataset_status(month_end.ids["fx"], Status.DISABLED)
    order(base, "B")
    run(base)
    assert result(base) == {"A": 1.5, "B": 1.5}


def test_a_version_that_the_job_names_is_read(spark: SparkSession, month_end: MonthEnd) -> None:
    month_end.publish("fx", NEW_RATES)
    order(month_end.base, "A")
    run(month_end.base, " FOR VERSION AS OF 1")
    assert result(month_end.base) == {"A": 1.5}
    (recorded,) = month_end.base.rglob("catalog.json")
    assert json.loads(recorded.read_text()) == {"chosen": {}, "pinned": {"fx": [1]}}


def test_explain_shows_the_dataset_and_errors_name_the_place(month_end: MonthEnd) -> None:
    base = month_end.base
    job = base / "job.sql"
    (base / "in").mkdir()
    job.write_text(SQL.format(version=" FOR VERSION AS OF 1"))
    done = command("explain", job, "--catalog", base / "catalog.db")
    assert done.exit_code == 0, done.output
    assert "CATALOG.fx.v1" in done.stdout
    assert done.stdout.endswith("\ndataset fx version 1\n")
    job.write_text(SQL.format(version=""))
    data = json.loads(command("explain", job, "--catalog", base / "catalog.db", "--json").stdout)
    assert data["datasets"] == {"fx": [1]}
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


def tables_of(month_end: MonthEnd) -> StreamTables:
    return StreamTables(
        lambda: open_catalog(month_end.base / "catalog.db"),
        resolvers=ResolverRegistry(month_end.base),
    )


def test_a_dataset_that_is_named_twice_has_one_version(month_end: MonthEnd) -> None:
    tables = tables_of(month_end)
    first = tables("fx", None)
    month_end.publish("fx", NEW_RATES)
    assert tables("FX", None) == first
    assert tables("fx", 2) != first
    assert tables("fx", 1) == first
    assert (tables.chosen, tables.pinned) == ({"fx": 1}, {"fx": [1, 2]})


def with_resolver(month_end: MonthEnd, template: str) -> None:
    reader, writer = month_end.catalog.reader, month_end.catalog.writer
    fx = reader.find_dataset("fx")
    assert fx is not None
    resolver = ResolverRef("path", {"template": template})
    writer.apply(Definitions(reader.definitions().revision, (replace(fx, resolver=resolver),)))


def test_the_resolver_of_a_dataset_says_where_its_rows_are(month_end: MonthEnd) -> None:
    with_resolver(month_end, "lake/{name}/v{version}.csv")
    found = dict(tables_of(month_end)("fx", None).properties)
    assert found["path"] == str(month_end.base / "lake/fx/v1.csv")
    assert (found["format"], found["delimiter"]) == ("csv", ",")


def test_a_resolver_that_needs_a_period_is_rejected(month_end: MonthEnd) -> None:
    with_resolver(month_end, "lake/{period}.csv")
    with pytest.raises(ProjectError, match="depends on the period") as caught:
        tables_of(month_end)("fx", None)
    assert caught.value.code == "MS-PROJECT-RESOLVER"


def test_a_run_that_was_planned_with_another_version_does_not_start(tmp_path: Path) -> None:
    assert record_versions(tmp_path, DatasetVersions({"fx": 1})) == []
    with pytest.raises(StateError, match="has begun with version 1 of the dataset fx") as caught:
        record_versions(tmp_path, DatasetVersions({"fx": 2}))
    assert caught.value.code == "MS-STATE-CATALOG"
    assert recorded_versions(tmp_path) == DatasetVersions({"fx": 1})


def test_another_version_that_the_job_names_is_reported(tmp_path: Path) -> None:
    record_versions(tmp_path, DatasetVersions({"a": 1, "b": 1}, {"fx": [3]}))
    changed = DatasetVersions({"b": 1}, {"fx": [4, 5], "a": [2]})
    assert record_versions(tmp_path, changed) == [
        "The job now reads version 4, 5 of the dataset fx; before, it has read version 3.",
        "The job now reads version 2 of the dataset a; before, it has read version 1.",
    ]
    assert recorded_versions(tmp_path) == changed
    assert record_versions(tmp_path, changed) == []


def test_versions_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    assert recorded_versions(tmp_path) == DatasetVersions()
    (tmp_path / "catalog.json").write_text("[1]")
    with pytest.raises(StateError, match="MS-STATE-CATALOG"):
        recorded_versions(tmp_path)


def test_a_version_of_one_file_can_be_a_table_with_versions(
    spark: SparkSession, tmp_path: Path
) -> None:
    definitions = tmp_path / "rates.yaml"
    definitions.write_text(
        "datasets: [{name: rates, main_table: {columns: {k: STRING, rate: DOUBLE, t: TIMESTAMP}}}]"
    )
    rates = tmp_path / "rates.csv"
    rates.write_text("k,rate,t\nEUR,1.5,2026-01-01T00:00:00Z\nEUR,2.5,2026-02-01T00:00:00Z\n")
    with Catalog.open(tmp_path / "catalog.db") as catalog:
        catalog.apply(definitions)
        catalog.publish("rates", rates)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/orders.csv").write_text("id,k,t\nA,EUR,2026-01-15T00:00:00Z\n")
    (tmp_path / "job.sql").write_text("""
    CREATE SOURCE orders (id STRING, k STRING, t TIMESTAMP, WATERMARK FOR t AS t)
      WITH ('connector' = 'file', 'path' = 'in', 'format' = 'csv');
    CREATE TABLE rates (k STRING, rate DOUBLE, t TIMESTAMP, PRIMARY KEY (k), WATERMARK FOR t AS t)
      WITH ('catalog.dataset' = 'rates');
    CREATE SINK out WITH ('connector' = 'file', 'path' = 'result', 'format' = 'csv') AS
    SELECT o.id, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.t r ON o.k = r.k;
    """)
    options = ("--once", "--flush", "--quiet", "--catalog", tmp_path / "catalog.db")
    done = command("run", tmp_path / "job.sql", *options)
    assert done.exit_code == 0, done.output
    assert result(tmp_path) == {"A": 1.5}
