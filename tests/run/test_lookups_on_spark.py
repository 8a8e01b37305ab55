"""Lookups of a running job in a real PostgreSQL: what is asked, what fails, what is accounted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.run.trial import Trial
from tests.services.postgres import USER, Postgres, postgres

from millstream.errors import RunError

__all__ = ["postgres"]

SQL = """
CREATE SOURCE orders (id BIGINT, customer BIGINT)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv', 'max.files.per.batch' = '1');
CREATE TABLE customers (id BIGINT, name STRING, PRIMARY KEY (id))
  WITH ('connector' = 'postgresql', 'url' = '{url}', 'user' = '{user}', 'password' = '{password}',
        'table' = '{table}'{more});
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id;
"""

pytestmark = [pytest.mark.service, pytest.mark.slow]


@pytest.fixture
def shop(spark, tmp_path, postgres):
    """A trial over a table of its own; `more` are further properties of it."""
    table = f"t{time.time_ns()}"
    postgres.run(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, name TEXT)")

    return Shop(spark, tmp_path, postgres, table)


@dataclass
class Shop:
    spark: SparkSession
    folder: Path
    postgres: Postgres
    table: str

    def __call__(self, more=""):
        login = {"user": USER, "password": self.postgres.password}
        sql = SQL.format(url=self.postgres.url, table=self.table, more=more, **login)
        return Trial(self.spark, self.folder, sql)


def orders(trial, number, *customers):
    first = number * 100_000
    rows = [f"{first + place},{customer}" for place, customer in enumerate(customers)]
    trial.add("orders", f"{number}.csv", ["id,customer", *rows])


def test_a_database_that_dies_mid_run_and_comes_back_loses_and_doubles_nothing(shop, postgres):
    postgres.run(f"INSERT INTO {shop.table} SELECT n, 'c' || n FROM generate_series(0, 49999) AS n")
    trial = shop(", 'lookup.cache.rows' = '0', 'lookup.retries' = '60', 'lookup.timeout' = '2s'")
    for number in range(6):
        orders(trial, number, *range(number * 1000, number * 1000 + 3000))

    def die_and_return():
        postgres.kill()
        time.sleep(3)
        postgres.start()

    run = trial.start()
    try:
        while not (trial.folder / "out").exists() or not trial.rows():  # the first batch is out
            assert run.running[0].streaming_query.isActive, run.running[
                0
            ].streaming_query.exception()
            run.wait(0.05)
        crash = threading.Thread(target=die_and_return)
        crash.start()
        run.process_available()
        crash.join()
    finally:
        run.stop()
    expected = Counter(
        (str(number * 100_000 + place), f"c{number * 1000 + place}")
        for number in range(6)
        for place in range(3000)
    )
    assert trial.rows() == expected
    ledger = run.running[0].ledger_store.ledger
    assert ledger.errors == []
    assert ledger.tables["customers"]["requested"] == 18_000
    assert ledger.tables["customers"]["failed"] == 0


def test_a_changed_row_is_seen_once_the_cache_is_old(shop, postgres):
    postgres.run(f"INSERT INTO {shop.table} VALUES (1, 'Ada')")
    trial = shop(", 'lookup.cache.ttl' = '3s'")
    orders(trial, 0, 1, 2)
    run = trial.start()
    try:
        run.process_available()
        looked_up = time.monotonic()
        postgres.run(
            f"UPDATE {shop.table} SET name = 'Ada L.'",
            f"INSERT INTO {shop.table} VALUES (2, 'Bob')",
        )
        while time.monotonic() - looked_up < 3.5:  # whichever worker knew the old answers
            time.sleep(0.1)
        orders(trial, 1, 1, 2)
        run.process_available()
    finally:
        run.stop()
    known = Counter([("0", "Ada"), ("1", ""), ("100000", "Ada L."), ("100001", "Bob")])
    assert trial.rows() == known


def test_a_hundred_thousand_keys_are_each_asked_once(shop, postgres):
    postgres.run(
        f"INSERT INTO {shop.table} SELECT n, 'c' || n FROM generate_series(0, 99999, 2) AS n"
    )
    trial = shop()
    orders(trial, 0, *range(100_000))
    ledger = trial.once()
    found = ledger.tables["customers"]
    assert (found["requested"], found["found"], found["absent"]) == (100_000, 50_000, 50_000)
    rows = trial.rows()
    assert len(rows) == 100_000
    assert rows[("4", "c4")] == rows[("5", "")] == 1


@pytest.mark.parametrize("on_error", ["null", "side_output", "fail"])
def test_a_database_that_stays_away_is_met_as_the_table_says(shop, postgres, on_error):
    postgres.run(f"INSERT INTO {shop.table} VALUES (1, 'Ada')")
    trial = shop(
        f", 'lookup.on_error' = '{on_error}', 'lookup.retries' = '1', 'lookup.timeout' = '1s'"
    )
    orders(trial, 0, 1, 1)
    run = trial.start()
    try:
        run.process_available()
        postgres.kill()
        orders(trial, 1, 7)
        if on_error == "fail":
            with pytest.raises(RunError, match="MS-LOOKUP-FAILED"):
                run.process_available()
        else:
            run.process_available()
    finally:
        run.stop()
        postgres.start()
    known = Counter([("0", "Ada"), ("1", "Ada")])
    if on_error == "null":
        assert trial.rows() == known + Counter([("100000", "")])
        return
    assert trial.rows() == known
    if on_error == "side_output":
        [letter] = trial.read("checkpoint/out/dead-letter/customers")
        assert letter["_source"] == "customers"
        assert letter["_raw"] == '{"id":100000}'
        assert letter["_reason"] == "lookup_failed"
        assert "customers" in letter["_message"]
        ledger = run.running[0].ledger_store.ledger
        assert ledger.errors == []
        assert ledger.tables["customers"]["failed"] == 1
        [rows] = ledger.inputs
        assert (rows["lookup_failed"], rows["filtered"], rows["processed"]) == (1, 0, 2)
    else:
        assert trial.once().rows_out == 3  # the database is back: the job goes on
        assert trial.rows() == known + Counter([("100000", "")])


def test_a_missing_database_table_is_reported_before_the_job_runs(shop):
    trial = shop()
    trial.sql = trial.sql.replace(shop.table, shop.table + "x")
    orders(trial, 0, 1)
    with pytest.raises(RunError, match="MS-LOOKUP-TABLE"):
        trial.start()
