"""A table of a database as a DataFrame: rows, columns and filters."""

from __future__ import annotations

import sqlite3
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.services.postgres import USER, Postgres

from millstream.connectors.jdbc.scan import read_table
from millstream.connectors.jdbc.url import connector_of
from millstream.errors import PropertyError, decode

ROWS = [
    ("EUR", "USD", "1.081", "2026-01", "2026-01-01"),
    ("GBP", "USD", "1.27", "2026-01", "2026-01-01"),
    ("JPY", "USD", None, "2026-02", "2026-02-01"),
    ("EUR", "CHF", "0.95", "2026-02", None),
]
SCHEMA = "from_currency STRING, rate DECIMAL(9,4), _period STRING, since DATE"


@pytest.fixture
def shop(tmp_path: Path) -> str:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE fx (from_currency, to_currency, rate, _period, since)")
        database.executemany("INSERT INTO fx VALUES (?, ?, ?, ?, ?)", ROWS)
    database.close()
    return f"jdbc:sqlite:{path}"


def physical_plan(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    frame.explain("formatted")
    return capsys.readouterr().out


def test_a_table_of_sqlite_is_read_with_its_types(spark: SparkSession, shop: str) -> None:
    rows = read_table(spark, shop, "FX", SCHEMA).orderBy("_period", "from_currency").collect()
    assert [tuple(row) for row in rows] == [
        ("EUR", Decimal("1.0810"), "2026-01", date(2026, 1, 1)),
        ("GBP", Decimal("1.2700"), "2026-01", date(2026, 1, 1)),
        ("EUR", Decimal("0.9500"), "2026-02", None),
        ("JPY", None, "2026-02", date(2026, 2, 1)),
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("_period = '2026-01'", 2),
        ("from_currency IN ('GBP', 'JPY')", 2),
        ("since <= DATE'2026-01-31'", 2),
        ("since IS NULL OR since > DATE'2026-01-01'", 2),
        ("since IS NULL", 1),
        ("since <=> DATE'2026-02-01'", 1),
        ("from_currency > 'EUR' AND from_currency < 'JPY'", 1),
        ("rate > 1", 2),
    ],
)
def test_a_filter_selects_the_same_rows_of_sqlite_as_in_spark(
    spark: SparkSession, shop: str, condition: str, expected: int
) -> None:
    assert read_table(spark, shop, "fx", SCHEMA).where(condition).count() == expected


def test_the_filter_of_a_period_reaches_the_database(
    spark: SparkSession, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = read_table(spark, shop, "fx", SCHEMA).where(F.col("_period") == "2026-01")
    plan = physical_plan(frame, capsys)
    assert "PushedFilters: [IsNotNull(_period), EqualTo(_period,2026-01)]" in plan
    assert "Filter (" not in plan  # Spark has nothing left to filter


def test_a_missing_column_is_an_error_with_a_suggestion(spark: SparkSession, shop: str) -> None:
    with pytest.raises(Exception, match="MS-LOOKUP-TABLE") as caught:
        read_table(spark, shop, "fx", "from_curency STRING").collect()
    error = decode(str(caught.value))
    assert error is not None
    assert error.fix == "Did you mean from_currency?"


def test_a_url_with_a_password_is_rejected() -> None:
    with pytest.raises(PropertyError, match=r"MS-PROP-VALUE.*contains a password") as caught:
        connector_of("jdbc:postgresql://joe:secret@host/db")
    assert "secret" not in str(caught.value)
    with pytest.raises(PropertyError, match="contains a password"):
        connector_of("postgresql://host/db?user=joe&password=secret")


def test_a_url_of_another_database_is_rejected() -> None:
    with pytest.raises(PropertyError, match=r"begins with jdbc:postgresql:// or jdbc:sqlite:\."):
        connector_of("jdbc:mysql://host/db")


@pytest.mark.service
def test_a_table_of_postgresql_is_read_with_filters_in_its_statement(
    spark: SparkSession,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    postgres.run(
        "CREATE TABLE fx_scan (from_currency char(5), to_currency text, rate numeric(9,4), "
        "_period varchar(7), since date, id uuid DEFAULT gen_random_uuid())",
        "INSERT INTO fx_scan VALUES ('EUR', 'USD', 1.081, '2026-01', '2026-01-01'), "
        "('GBP', 'USD', 1.27, '2026-01', NULL), ('JPY', 'USD', NULL, '2026-02', '2026-02-01')",
    )
    monkeypatch.setenv("PGUSER", USER)
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    frame = read_table(spark, f"jdbc:{postgres.url}", "fx_scan", SCHEMA)
    rows = frame.where("_period = '2026-01' AND since <= DATE'2026-01-01' AND rate >= 1").collect()
    assert [tuple(row) for row in rows] == [("EUR", Decimal("1.0810"), "2026-01", date(2026, 1, 1))]
    statement = next(line for line in postgres.log.splitlines()[::-1] if 'FROM "public"' in line)
    assert '"_period" = ' in statement
    assert '"since" <= ' in statement
    assert "to_currency" not in statement
    frame.explain("extended")
    assert postgres.password not in capsys.readouterr().out
    assert postgres.password not in physical_plan(frame, capsys)
