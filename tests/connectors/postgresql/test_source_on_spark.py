"""Jobs that read changes of PostgreSQL on Spark: results equal queries over the tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.connectors.postgresql.sources import drop_slots
from tests.run.trial import Trial
from tests.services.postgres import USER, Postgres, postgres

__all__ = ["postgres"]
pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def server(postgres: Postgres, tmp_path: Path) -> Iterator[Postgres]:
    (tmp_path / "password").write_text(postgres.password)
    drop_slots(postgres)
    postgres.run(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
        "CREATE TABLE customers (id bigint PRIMARY KEY, name text)",
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint, amount numeric(10, 2))",
        "ALTER TABLE customers REPLICA IDENTITY FULL",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "DROP PUBLICATION IF EXISTS millstream_orders, millstream_customers",
    )
    yield postgres
    drop_slots(postgres)


def connection(server: Postgres, **more: str) -> str:
    given = {"connector": "postgresql", "url": server.url, "user": USER}
    given |= {"password.file": "password"} | {k.replace("_", "."): v for k, v in more.items()}
    return "WITH (" + ", ".join(f"'{name}' = '{value}'" for name, value in given.items()) + ")"


def query(server: Postgres, text: str) -> list[tuple[Any, ...]]:
    with server.connect() as connected:
        return connected.execute(text.encode()).fetchall()


def test_a_join_and_a_filter_of_changelogs_equal_queries_over_the_tables(
    server: Postgres, spark: SparkSession, tmp_path: Path
) -> None:
    job = f"""
        CREATE SOURCE customers (id BIGINT, name STRING) {connection(server, mode="cdc")};
        CREATE SOURCE orders (id BIGINT, customer BIGINT, amount DECIMAL(10, 2))
        {connection(server, mode="cdc")};
        CREATE SINK out {connection(server, key_columns="id")} AS
        SELECT o.id, o.amount, c.name FROM orders o JOIN customers c ON o.customer = c.id
        WITH ('state.ttl' = 'forever');
        CREATE SINK large {connection(server, key_columns="id")} AS
        SELECT id, customer FROM orders WHERE amount >= 10;
        CREATE SINK totals {connection(server, key_columns="customer")} AS
        SELECT customer, sum(amount) AS total FROM orders GROUP BY customer
        EMIT CHANGES WITH ('state.ttl' = 'forever');
    """
    expected = {
        "out": "SELECT o.id, o.amount, c.name FROM orders o JOIN customers c ON o.customer = c.id",
        "large": "SELECT id, customer FROM orders WHERE amount >= 10",
        "totals": "SELECT customer, sum(amount) FROM orders GROUP BY customer",
    }

    def check() -> None:
        for sink, text in expected.items():
            assert sorted(query(server, f"TABLE {sink}")) == sorted(query(server, text)), sink

    trial = Trial(spark, tmp_path, job)
    server.run(
        "INSERT INTO customers SELECT i, 'c' || i FROM generate_series(1, 20) i",
        "INSERT INTO orders SELECT i, i % 25, i FROM generate_series(1, 100) i",
    )
    run = trial.start()
    try:
        run.process_available()
        check()
        server.kill()
        server.start()
        server.run(
            "UPDATE orders SET amount = 20 - amount WHERE id BETWEEN 5 AND 15",
            "UPDATE orders SET id = id + 1000 WHERE id % 10 = 0",
            "UPDATE customers SET name = 'new' WHERE id < 5",
            "DELETE FROM customers WHERE id = 7",
            "BEGIN; DELETE FROM orders WHERE id = 99; INSERT INTO orders VALUES (99, 1, 1); COMMIT",
        )
        run.process_available()
        check()
    finally:
        run.stop()
    server.run("DELETE FROM orders WHERE id > 1000", "INSERT INTO customers VALUES (7, 'back')")
    again = trial.start(once=True)
    try:
        while not again.wait(30):
            pass
    finally:
        again.stop()
    check()


def test_a_versioned_table_and_a_stream_of_changes_have_system_columns(
    server: Postgres, spark: SparkSession, tmp_path: Path
) -> None:
    job = f"""
        CREATE TABLE customers (id BIGINT, name STRING, _op STRING, _timestamp TIMESTAMP,
          PRIMARY KEY (id), WATERMARK FOR _timestamp AS _timestamp)
        {connection(server, mode="cdc")};
        CREATE SOURCE orders (id BIGINT, customer BIGINT, _OP STRING, _timestamp TIMESTAMP,
          WATERMARK FOR _timestamp AS _timestamp) {connection(server, mode="cdc")};
        CREATE SINK out WITH ('connector' = 'file', 'path' = 'out') AS
        SELECT o.id, o._op AS change, o._offset > 0 AS has_offset, c.name
        FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF o._timestamp AS c
        ON o.customer = c.id;
    """
    server.run("INSERT INTO customers VALUES (1, 'old'), (2, 'gone')")
    trial = Trial(spark, tmp_path, job)
    run = trial.start()
    try:
        run.process_available()
        server.run(
            "INSERT INTO orders VALUES (10, 1, 0), (11, 2, 0)",
            "UPDATE customers SET name = 'new' WHERE id = 1; DELETE FROM customers WHERE id = 2",
            "UPDATE orders SET customer = 1 WHERE id = 11",
            "INSERT INTO orders VALUES (12, 2, 0)",
        )
        run.process_available()
        run.flush()
    finally:
        run.stop()
    found = [tuple(row.values()) for row in trial.read("out")]
    assert sorted(found) == [
        (10, "+I", True, "old"),
        (11, "+I", True, "gone"),
        (11, "+U", True, "new"),
        (11, "-U", True, None),
        (12, "+I", True, None),
    ]
