"""Jobs read and write Iceberg tables on Spark; a retried batch changes nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.connectors.iceberg.tables import catalog, table_rows
from tests.run.trial import Trial, at

TABLE = """'connector' = 'iceberg', 'table' = 'db.{name}', 'catalog.type' = 'sql',
  'catalog.uri' = 'sqlite:///cat.db', 'catalog.warehouse' = 'wh'"""
JOB = f"""
CREATE SOURCE orders (id BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t)
WITH ('connector' = 'file', 'path' = 'in/orders', 'max.files.per.batch' = '1');
CREATE SINK out WITH ({TABLE.format(name="orders")}, 'partition.by' = 'usr') AS
SELECT id, usr, t FROM orders;
"""
COPY = f"""
CREATE SOURCE orders (id BIGINT, USR STRING) WITH ({TABLE.format(name="orders")});
CREATE SINK copies WITH ({TABLE.format(name="copies")}) AS SELECT USR, id * 10 AS id FROM orders;
"""


def order(number: int, usr: str) -> str:
    return f'{{"id":{number},"usr":"{usr}","t":"{at(number)}"}}'


@pytest.mark.slow
def test_rows_are_in_their_table_once_and_another_job_reads_them(spark, tmp_path):
    trial = Trial(spark, tmp_path, JOB)
    trial.add("orders", "1.json", [order(1, "a b"), order(2, "c")])
    trial.once()
    trial.forget_last_commit()
    trial.add("orders", "2.json", [order(3, "c")])
    trial.once()
    rows = Counter((row[0], row[1]) for row in table_rows(tmp_path, "db.orders"))
    assert rows == Counter([(1, "a b"), (2, "c"), (3, "c")])
    assert len(catalog(tmp_path).load_table("db.orders").snapshots()) == 2

    copying = Trial(spark, tmp_path, COPY)
    copying.once()
    trial.add("orders", "3.json", [order(4, "a b")])
    trial.once()
    copying.once()
    copies = sorted(table_rows(tmp_path, "db.copies"))
    assert copies == [("a b", 10), ("a b", 40), ("c", 20), ("c", 30)]
