"""A job reads an SQLite table as it grows and upserts its result into another."""

from __future__ import annotations

import pytest
from tests.connectors.sqlite.sinks import execute
from tests.run.trial import Trial

JOB = """
CREATE SOURCE orders (ID BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t) WITH
  ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:shop.db', 'mode' = 'incremental',
   'incremental.column' = 'ID', 'max.rows.per.batch' = '2');
CREATE SINK counts WITH ('connector' = 'sqlite', 'path' = 'shop.db', 'key.columns' = 'usr') AS
SELECT usr, count(*) AS n, collect_list(ID) AS ids FROM orders GROUP BY usr
EMIT CHANGES WITH ('state.ttl' = '1h', 'output.mode' = 'upsert');
"""


@pytest.mark.slow
def test_new_rows_of_a_table_update_a_result_by_key_once(spark, tmp_path):
    shop = tmp_path / "shop.db"
    execute(shop, "CREATE TABLE orders (id INTEGER PRIMARY KEY, usr TEXT, t TEXT)")

    def insert(number: int, usr: str) -> None:
        execute(shop, f"INSERT INTO orders VALUES ({number}, '{usr}', '2026-01-15T10:00:00Z')")

    for number, usr in enumerate("aab"):
        insert(number, usr)
    trial = Trial(spark, tmp_path, JOB)
    trial.once()
    trial.forget_last_commit("counts")
    insert(4, "b")
    trial.once()
    found = execute(shop, "SELECT usr, n, ids FROM counts ORDER BY usr")
    assert found == [("a", 2, "[0,1]"), ("b", 2, "[2,4]")]
