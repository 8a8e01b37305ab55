"""Loaders of each format: rows, filters that reach the scan, and rows that do not fit."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import FX, RATES, TABLES, USD, MonthEnd
from tests.catalog.execution.snapshots import JANUARY
from tests.services.postgres import USER, Postgres

from millstream.catalog.execution.loaders import load
from millstream.catalog.model import (
    DataFormat,
    Dataset,
    DatasetSnapshot,
    ProjectOverride,
    ResolverRef,
    ResolverSource,
    TemporalMode,
    UpdateOperation,
)
from millstream.catalog.publishing.formats import complete_options
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import ProjectError, ProjectRunError

CSV = "from_currency;to_currency;rate;_period\nEUR;USD;1.5;2026-01\nGBP;USD;2;2026-02\n"
JSON = (
    '{"from_currency": "EUR", "to_currency": "USD", "rate": 1.5, "_period": "2026-01"}\n'
    '{"from_currency": "GBP", "to_currency": "USD", "rate": 2, "_period": "2026-02"}\n'
)


def fx(form: DataFormat, location: str, **options: str) -> DatasetSnapshot:
    return DatasetSnapshot(
        dataset_id=uuid4(),
        dataset_name="fx",
        dataset_version=1,
        table_name="rates",
        temporal_mode=TemporalMode.PERIOD,
        resolver_source=ResolverSource.SYSTEM_DEFAULT,
        resolver=ResolverRef("catalog"),
        format=form,
        location=location,
        schema=TABLES["fx"].all_columns,
        content_hash=None,
        options=complete_options(form, options),
    )


def database(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE fx (from_currency, to_currency, rate REAL, _period)")
        connection.executemany("INSERT INTO fx VALUES (?, ?, ?, ?)", RATES)
    connection.close()
    return f"jdbc:sqlite:{path}"


def rates(tmp_path: Path, form: DataFormat) -> DatasetSnapshot:
    path = tmp_path / f"fx.{form.value}"
    if form is DataFormat.CSV:
        path.write_text(CSV)
        return fx(form, str(path), delimiter=";")
    if form is DataFormat.JSON:
        path.write_text(JSON)
        return fx(form, str(path))
    if form is DataFormat.JDBC:
        return fx(form, database(path), table="fx")
    columns: dict[str, list[Any]] = {
        "from_currency": ["EUR", "GBP"],
        "to_currency": ["USD", "USD"],
        "rate": [1.5, 2.0],
        "_period": ["2026-01", "2026-02"],
    }
    pq.write_table(pa.table(columns), path)
    return fx(form, str(path))


@pytest.mark.parametrize("form", [each for each in DataFormat if each is not DataFormat.TABLE])
def test_the_period_filter_reaches_the_scan_of_each_format(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: DataFormat
) -> None:
    given = rates(tmp_path, form)
    frame = load(spark, given, JANUARY, ["rate", "from_currency"])
    assert frame.columns == ["from_currency", "rate"]
    first = frame.orderBy("from_currency").collect()[0]
    assert tuple(first) == ("EUR", 1.5) if form is not DataFormat.JDBC else first.rate in (1.5, 0.8)
    frame.explain("formatted")
    plan = capsys.readouterr().out
    pushed = next(line for line in plan.splitlines() if "PushedFilters" in line)
    assert "EqualTo(_period,2026-01)" in pushed


def test_a_value_that_does_not_fit_its_column_is_an_error_not_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "fx.csv"
    path.write_text(CSV.replace("1.5", "one"))
    given = fx(DataFormat.CSV, str(path), delimiter=";")
    with pytest.raises(Exception, match="MALFORMED_RECORD_IN_PARSING"):
        load(spark, given, JANUARY).collect()


@pytest.mark.parametrize("form", [DataFormat.CSV, DataFormat.JSON])
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf8"])
def test_every_encoding_that_can_be_published_is_read(
    spark: SparkSession, tmp_path: Path, form: DataFormat, encoding: str
) -> None:
    path = tmp_path / "fx"
    name = "euro" if encoding == "ascii" else "\u00e9uro"
    text = (CSV if form is DataFormat.CSV else JSON).replace("EUR", name)
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    more = {"delimiter": ";"} if form is DataFormat.CSV else {}
    given = fx(form, str(path), encoding=encoding, **more)
    assert load(spark, given, JANUARY).collect() == [(name, "USD", 1.5, "2026-01")]


def test_values_of_csv_that_can_be_published_are_read(spark: SparkSession, tmp_path: Path) -> None:
    values = ("1.5", " 1.5 ", "-.5", "+1e2", "NaN", "Inf", "-Inf", "Infinity", "-Infinity")
    path = tmp_path / "fx.csv"
    lines = [f"EUR,USD,{value},2026-01" for value in values]
    path.write_text("\n".join(["from_currency,to_currency,rate,_period", *lines]))
    content, _ = prepare(Dataset(uuid4(), "fx", TABLES["fx"]), str(path))
    assert content.row_count == len(values)
    found = load(spark, fx(DataFormat.CSV, str(path)), JANUARY).collect()
    assert [str(row.rate) for row in found] == [str(float(value)) for value in values]


def test_csv_columns_in_another_order_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "fx.csv"
    path.write_text("to_currency;from_currency;rate;_period\nUSD;EUR;1.5;2026-01\n")
    given = fx(DataFormat.CSV, str(path), delimiter=";")
    with pytest.raises(Exception, match="CSV header does not conform to the schema"):
        load(spark, given, JANUARY).collect()


def test_a_parquet_file_without_a_recorded_column_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "fx.parquet"
    pq.write_table(pa.table({"from_curency": ["EUR"], "rate": [1.0], "_period": ["2026-01"]}), path)
    given = fx(DataFormat.PARQUET, str(path))
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-SCHEMA.*no column from_currency"):
        load(spark, given, JANUARY)
    pq.write_table(pa.table({"from_currency": ["EUR"], "rate": [1], "_period": ["2026-01"]}), path)
    with pytest.raises(ProjectRunError, match=r"rate of .* is bigint, .* recorded with double"):
        load(spark, given, JANUARY, ["rate"])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ProjectRunError, match="contains no Parquet file"):
        load(spark, replace(given, location=str(empty)), JANUARY)


def from_database(month_end: MonthEnd, url: str, table: str) -> None:
    resolver = ResolverRef("jdbc", {"url": url, "table": table})
    month_end.apply(
        UpdateOperation((FX,), (USD,)), resolver_overrides=(ProjectOverride("fx", resolver),)
    )


def check_run(month_end: MonthEnd, spark: SparkSession) -> None:
    """The run reads the database, and cannot be replayed."""
    runner = month_end.runner(spark)
    runner.activate("month-end")
    run = runner.run("month-end", "2026-01")
    assert [row[5] for row in month_end.output()] == [150.0, 100.0, 100.0]
    assert run.snapshot is not None
    assert not run.snapshot.reproducible
    with pytest.raises(ProjectError, match=r"MS-PROJECT-NOT-REPRODUCIBLE.*fx v1"):
        runner.replay(run.id)


def test_a_table_of_sqlite_is_joined_and_makes_the_run_not_reproducible(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    url = database(month_end.base / "fx.db")
    from_database(month_end, url, "fx")
    check_run(month_end, spark)


@pytest.mark.service
def test_a_table_of_postgresql_is_joined(
    spark: SparkSession,
    month_end: MonthEnd,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postgres.run(
        "CREATE TABLE fx_v1 (from_currency text, to_currency text, rate float8, _period text)"
    )
    with postgres.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO fx_v1 VALUES (%s, %s, %s, %s)", RATES)
    monkeypatch.setenv("PGUSER", USER)
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    from_database(month_end, f"jdbc:{postgres.url}", "fx_v{version}")
    check_run(month_end, spark)
    assert "'2026-01'" in postgres.log
    assert "'USD'" in postgres.log


def test_a_table_of_the_catalog_of_spark_is_read_and_not_reproducible(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    columns = [each.name for each in TABLES["fx"].all_columns]
    spark.createDataFrame(RATES, columns).createOrReplaceTempView("fx_rates_v1")
    table = ResolverRef("table", {"table": "fx_rates_v{version}"})
    month_end.apply(
        UpdateOperation((FX,), (USD,)), resolver_overrides=(ProjectOverride("fx", table),)
    )
    runner = month_end.runner(spark)
    runner.activate("month-end")
    try:
        run = runner.run("month-end", "2026-01")
        assert [row[5] for row in month_end.output()] == [150.0, 100.0, 100.0]
        with pytest.raises(ProjectError, match=r"MS-PROJECT-NOT-REPRODUCIBLE.*fx v1"):
            runner.replay(run.id)
        spark.sql("SELECT 'EUR' AS from_currency").createOrReplaceTempView("fx_rates_v1")
        with pytest.raises(ProjectRunError, match=r"the table fx_rates_v1 has no column"):
            runner.run("month-end", "2026-01")
    finally:
        spark.catalog.dropTempView("fx_rates_v1")
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-TABLE.*no table fx_rates_v1"):
        runner.run("month-end", "2026-01")
