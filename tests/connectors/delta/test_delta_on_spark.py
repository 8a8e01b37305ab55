"""Jobs read and write Delta tables on Spark; a retried batch changes nothing."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.connectors.delta.sinks import table_rows
from tests.run.trial import Trial, at

from millstream.errors import RunError

WRITE = """
CREATE SINK bad WITH ('connector' = 'delta', 'path' = 'bad');
CREATE SINK late WITH ('connector' = 'delta', 'path' = 'late', 'partition.by' = 'usr');
CREATE SOURCE orders (id BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t)
WITH ('connector' = 'file', 'path' = 'in/orders', 'max.files.per.batch' = '1',
  'dead_letter.sink' = 'bad');
CREATE SINK out WITH ('connector' = 'delta', 'path' = 'out', 'partition.by' = 'usr') AS
SELECT DISTINCT ON (id) id, usr, t FROM orders
WITH ('state.ttl' = '1h', 'late.policy' = 'side_output', 'late.sink' = 'late');
"""
COUNT = """
CREATE SOURCE orders (ID BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 HOUR)
WITH ('connector' = 'delta', 'path' = 'out', 'max.files.per.batch' = '2');
CREATE SINK counts WITH ('connector' = 'delta', 'path' = 'counts', 'key.columns' = 'usr') AS
SELECT usr, count(*) AS n, max(ID) AS last FROM orders WHERE ID <> 3 GROUP BY usr
EMIT CHANGES WITH ('state.ttl' = '1h', 'output.mode' = 'upsert');
"""


def order(number: int, usr: str, minute: int) -> str:
    return f'{{"id":{number},"usr":"{usr}","t":"{at(minute)}"}}'


@pytest.mark.slow
def test_all_outputs_of_a_job_are_in_their_tables_once_and_other_jobs_read_them(spark, tmp_path):
    trial = Trial(spark, tmp_path, WRITE)
    trial.add("orders", "1.json", [order(1, "a b", 1), order(2, "c", 2), "x", order(1, "a b", 2)])
    trial.add("orders", "2.json", [order(3, "c", 5), order(4, "a b", 1)])
    trial.once()
    rows = Counter((row[0], row[1]) for row in table_rows(tmp_path / "out"))
    assert rows == Counter([(1, "a b"), (2, "c"), (3, "c")])
    version = DeltaTable(str(tmp_path / "out")).version()
    trial.forget_last_commit()
    trial.add("orders", "3.json", [order(5, "c", 6)])
    trial.once()
    rows = Counter((row[0], row[1]) for row in table_rows(tmp_path / "out"))
    assert rows == Counter([(1, "a b"), (2, "c"), (3, "c"), (5, "c")])
    assert DeltaTable(str(tmp_path / "out")).version() == version + 1
    late = pa.table(DeltaTable(str(tmp_path / "late")).scan().read_all()).to_pylist()
    assert [row["id"] for row in late] == [4]
    dead = pa.table(DeltaTable(str(tmp_path / "bad")).scan().read_all()).to_pylist()
    assert [row["_raw"] for row in dead] == ["x"]

    counting = Trial(spark, tmp_path, COUNT)
    counting.once()
    counting.forget_last_commit("counts")
    counting.once()
    assert sorted(table_rows(tmp_path / "counts")) == [("a b", 1, 1), ("c", 2, 5)]
    trial.add("orders", "4.json", [order(6, "a b", 7)])
    trial.once()
    counting.once()
    assert sorted(table_rows(tmp_path / "counts")) == [("a b", 2, 6), ("c", 2, 5)]
    DeltaTable(str(tmp_path / "out")).delete("id = 1")
    with pytest.raises(RunError, match="MS-RUN-DELTA-CHANGES") as error:
        counting.once()
    assert "source orders: version" in error.value.cause
