"""Limits of state with eight key groups: one hot key may use all of the limit."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest
from tests.run.trial import Trial, at, ledger

from millstream.engine.shuffle.spark_hashes import xxhash64
from millstream.errors import StateError

SQL = """
SET 'key_groups' = '8';
CREATE SOURCE orders (id BIGINT, k STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'json',
        'max.files.per.batch' = '1');
CREATE SOURCE shipments (k STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'json');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT o.id, s.k FROM orders o LEFT JOIN shipments s
  ON o.k = s.k AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES
WITH ('state.max_rows' = '8', 'state.on_limit' = 'POLICY');
"""


def group_of(key: str) -> int:
    return int(xxhash64([pa.chunked_array([[key]])])[0]) % 8


# Keys of other key groups than the hot one.
OTHERS = [name for name in (f"k{n}" for n in range(40)) if group_of(name) != group_of("hot")]


def trial_of(spark, folder, policy: str) -> Trial:
    trial = Trial(spark, folder, SQL.replace("POLICY", policy))
    (folder / "in/shipments").mkdir(parents=True)
    return trial


def orders(trial: Trial, name: str, ids: range, key: str | None = None) -> None:
    rows = [{"id": number, "k": key or OTHERS[number], "at": at(1, number)} for number in ids]
    trial.add("orders", f"{name}.json", map(json.dumps, rows))


def shown(trial: Trial) -> Counter[tuple[str, ...]]:
    return trial.rows()


@pytest.mark.slow
def test_a_batch_over_the_limit_fails_and_a_raised_limit_continues_exactly(spark, tmp_path):
    trial = trial_of(spark, tmp_path, "fail")
    orders(trial, "1", range(8), key="hot")  # as many as the limit, all of one key
    assert trial.once().state["state_rows"] == 8
    orders(trial, "2", range(8, 11))  # three keys in other groups, each far below the limit
    with pytest.raises(StateError) as caught:
        trial.once()
    assert caught.value.code == "MS-STATE-LIMIT"
    assert caught.value.cause == (
        "the left join of orders and shipments has 11 rows of state; 'state.max_rows' is 8."
    )
    spark_folder = tmp_path / "checkpoint/out/spark"
    assert (spark_folder / "offsets/1").exists()
    assert not (spark_folder / "commits/1").exists()
    orders(trial, "3", range(11, 12))
    trial.sql = trial.sql.replace("'8', 'state.on", "'20', 'state.on")
    assert trial.flushed().rows_out == 12
    assert shown(trial) == Counter((str(number), "None") for number in range(12))


@pytest.mark.slow
def test_a_job_that_reached_its_limit_continues_with_evict_and_again_with_fail(spark, tmp_path):
    trial = trial_of(spark, tmp_path, "fail")
    orders(trial, "1", range(8), key="hot")
    trial.once()
    trial.sql = SQL.replace("POLICY", "evict")
    orders(trial, "2", range(8, 14))
    run = trial.start()
    try:
        run.process_available()
        assert ledger(run).state["state_rows"] == 8
    finally:
        run.stop()
    trial.sql = SQL.replace("POLICY", "fail").replace("'8', 'state.on", "'20', 'state.on")
    orders(trial, "3", range(14, 16))
    assert trial.flushed().rows_out == 16
    assert shown(trial) == Counter((str(number), "None") for number in range(16))


@pytest.mark.slow
def test_with_evict_state_is_trimmed_to_the_limit_by_the_next_batch(spark, tmp_path):
    trial = trial_of(spark, tmp_path, "evict")
    orders(trial, "1", range(8), key="hot")
    orders(trial, "2", range(8, 14))
    run = trial.start()
    try:
        run.process_available()
        counted = ledger(run)
        assert counted.state["state_rows"] == 8
        assert sum(each["evicted"] for each in counted.inputs) == 6
        run.flush()
    finally:
        run.stop()
    assert shown(trial) == Counter((str(number), "None") for number in range(14))
