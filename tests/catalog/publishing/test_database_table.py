"""A table of a database becomes a version that is not reproducible."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from tests.catalog.publishing.samples import FX, RATES, rejected
from tests.services.postgres import USER, Postgres

from millstream.catalog.model import Column, DataFormat, Table, TemporalMode
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import CatalogError


def _database(tmp_path: Path, *statements: str) -> str:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        for each in statements:
            connection.execute(each)
    connection.close()
    return f"jdbc:sqlite:{tmp_path / 'shop.db'}"


def test_a_table_of_a_database_is_not_reproducible(tmp_path: Path):
    url = _database(tmp_path, "CREATE TABLE fx (CURRENCY TEXT, rate NUMERIC, note)")
    content, files = prepare(FX, url, options={"table": "fx"})
    assert (content.format, content.schema, files) == (DataFormat.JDBC, RATES, ())
    assert not content.reproducible
    assert content.database_columns == (
        Column("CURRENCY", "TEXT"),
        Column("rate", "NUMERIC"),
        Column("note", "any"),
    )


def test_all_differences_of_a_table_are_listed(tmp_path: Path):
    url = _database(tmp_path, "CREATE TABLE fx (currency INTEGER, rates REAL)")
    error = rejected(url, options={"table": "fx"})
    assert error.code == "MS-CATALOG-COLUMNS"
    assert error.cause == (
        "the table fx does not have the columns of fx:"
        "\n  ~ column currency string: it is INTEGER in the database"
        "\n  - column rate decimal(18,6): the table has no such column"
    )
    assert error.fix


def test_a_table_that_does_not_exist_is_rejected(tmp_path: Path):
    url = _database(tmp_path, "CREATE TABLE fy (currency TEXT, rate REAL)")
    error = rejected(url, options={"table": "fx"})
    assert error.code == "MS-CATALOG-LOCATION"
    assert "the database has no table fx" in error.cause
    assert error.fix == "Known: fy."


def test_the_key_of_a_table_is_checked(tmp_path: Path):
    dataset = replace(FX, table=Table("rates", RATES, TemporalMode.BITEMPORAL, ("currency",)))
    columns = "currency TEXT, rate REAL, _period_from TEXT, _period_to TEXT"
    one = "INSERT INTO fx VALUES ('EUR', 1.5, '2026-01-01', NULL)"
    url = _database(tmp_path, f"CREATE TABLE fx ({columns})", one)
    assert prepare(dataset, url, options={"table": "fx"})[0].key == ("currency",)
    _database(tmp_path, one.replace("2026-01-01", "2026-02-01"))
    error = rejected(url, dataset, options={"table": "fx"})
    assert error.code == "MS-CATALOG-KEY-DUPLICATE"
    assert error.cause.endswith("\n  currency = 'EUR': [2026-01-01, open) and [2026-02-01, open)")


@pytest.mark.service
def test_a_table_of_postgresql_is_checked(postgres: Postgres, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGUSER", USER)
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    postgres.run("CREATE TABLE fx_checked (currency varchar(3), rate numeric(18,6), more json)")
    url = f"jdbc:{postgres.url}"
    content, _ = prepare(FX, url, options={"table": "fx_checked"})
    assert content.database_columns == (
        Column("currency", "character varying(3)"),
        Column("rate", "numeric(18,6)"),
        Column("more", "json"),
    )
    postgres.run("CREATE TABLE fx_other (rate text)")
    assert rejected(url, options={"table": "fx_other"}).cause.splitlines()[1:] == [
        "  - column currency string: the table has no such column",
        "  ~ column rate decimal(18,6): it is text in the database",
    ]


def test_a_table_of_a_database_needs_its_name():
    assert "no table is named" in rejected("jdbc:postgresql://db/shop").cause


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://me:hunter2@db/shop",
        "jdbc:postgresql://db/shop?user=me&password=hunter2",
        "jdbc:postgresql://db/shop?PASSWORD=hunter2",
        "jdbc:postgresql://db/shop?pwd=hunter2",
        "jdbc:postgresql://db/shop?user=me&pass=hunter2",
        "s3://bucket/fx.csv?access_key=hunter2",
        "https://store/fx.csv?sv=1&sig=hunter2",
        "s3://key:hunter2@bucket/fx",
    ],
)
def test_a_location_with_a_password_is_rejected_without_showing_it(url: str):
    error = rejected(url, options={"table": "fx"})
    assert error.code == "MS-CATALOG-SECRET"
    assert "hunter2" not in str(error)


def test_the_path_of_a_sqlite_database_is_absolute(tmp_path: Path):
    _database(tmp_path, "CREATE TABLE fx (currency TEXT, rate REAL)")
    content, _ = prepare(FX, "jdbc:sqlite:shop.db", options={"table": "fx"}, base=tmp_path)
    assert content.location == f"jdbc:sqlite:{tmp_path / 'shop.db'}"


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("jdbc:mysql://db/shop", "not the URL of a supported database"),
        ("jdbc:nonsense", "not the URL of a supported database"),
        ("jdbc:postgresql://[x", "cannot be read"),
        ("jdbc:sqlite:/nowhere/shop.db", "it is not a file"),
    ],
)
def test_a_database_that_cannot_be_read_is_rejected(url: str, cause: str):
    with pytest.raises(CatalogError, match=cause) as error:
        prepare(FX, url, options={"table": "fx"})
    assert error.value.code == "MS-CATALOG-LOCATION"
