"""A job reads, looks up and writes tables through SQLAlchemy."""

from __future__ import annotations

import pytest
from tests.connectors.sqlite.sinks import execute
from tests.run.trial import Trial

JOB = """
CREATE SOURCE orders (id BIGINT, usr STRING, t TIMESTAMP) WITH
  ('connector' = 'database', 'url' = '{url}', 'mode' = 'incremental',
   'incremental.column' = 'id', 'max.rows.per.batch' = '2');
CREATE TABLE users (usr STRING, name STRING, PRIMARY KEY (usr)) WITH
  ('connector' = 'database', 'url' = '{url}');
CREATE SINK named WITH ('connector' = 'database', 'url' = '{url}', 'key.columns' = 'id') AS
SELECT o.id, u.name, ARRAY(o.usr) AS usrs FROM orders o LEFT JOIN users u ON o.usr = u.usr;
"""


@pytest.mark.slow
def test_new_rows_are_looked_up_and_written_once(spark, tmp_path):
    shop = tmp_path / "shop.db"
    execute(
        shop,
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, usr TEXT, t TIMESTAMP)",
        "CREATE TABLE users (usr TEXT PRIMARY KEY, name TEXT)",
        "INSERT INTO users VALUES ('a', 'Ada'), ('b', 'Bob')",
    )
    insert = "INSERT INTO orders VALUES ({}, '{}', '2026-01-15 10:00:00')"
    execute(shop, *(insert.format(number, usr) for number, usr in enumerate("abc")))
    trial = Trial(spark, tmp_path, JOB.format(url=f"sqlite:///{shop}"))
    trial.once()
    trial.forget_last_commit("named")
    execute(shop, insert.format(7, "a"))
    trial.once()
    assert execute(shop, "SELECT * FROM named ORDER BY id") == [
        (0, "Ada", '["a"]'),
        (1, "Bob", '["b"]'),
        (2, None, '["c"]'),
        (7, "Ada", '["a"]'),
    ]
