"""A query has one control source: every operator sees the end of input in the same micro-batch."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count

import pytest
from pyspark.sql import DataFrame
from tests.run.trial import Trial, at

from millstream.plan.build.job import build_job
from millstream.run.job import Status
from millstream.run.query_writer import QueryWriter
from millstream.run.runner import Runner
from millstream.run.settings import RunSettings

SOURCES = """
CREATE SOURCE clicks (id BIGINT, k STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/clicks', 'format' = 'json');
CREATE SOURCE views (k STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/views', 'format' = 'json');
"""
# Three shuffles read sources: DISTINCT and the left input of the join by its own key, the join.
CHAIN = """
CREATE STREAM unique_clicks AS SELECT DISTINCT ON (id) id, k, at FROM clicks
WITH ('state.ttl' = '1h');
CREATE STREAM view_counts AS
SELECT k, count(*) AS views, _WINDOW_TIME AS at FROM views WINDOW TUMBLING(INTERVAL 10 MINUTES)
GROUP BY k;
CREATE STREAM pairs AS
SELECT c.id, v.views, c.at FROM unique_clicks c LEFT JOIN view_counts v
  ON c.k = v.k AND v.at BETWEEN c.at AND c.at + INTERVAL 10 MINUTES;
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT p.id, p.views, w.k FROM pairs p LEFT JOIN views w
  ON p.views = length(w.k) AND w.at BETWEEN p.at AND p.at + INTERVAL 10 MINUTES;
"""
NATIVE = """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT c.id, v.k FROM clicks c LEFT JOIN views v
  ON c.k = v.k AND v.at BETWEEN c.at AND c.at + INTERVAL 10 MINUTES WITH ('engine' = 'native');
"""
COUNTS = """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT k, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 10 MINUTES) GROUP BY k;
"""


def trial_of(spark, folder, sql: str) -> Trial:
    trial = Trial(spark, folder, SOURCES + sql)
    clicks = [{"id": 1, "k": "a", "at": at(1)}, {"id": 2, "k": "b", "at": at(2)}]
    views = [{"k": "a", "at": at(3)}, {"k": "a", "at": at(4)}]
    trial.add("clicks", "1.json", map(json.dumps, clicks))
    trial.add("views", "1.json", map(json.dumps, views))
    return trial


def control_sources(trial: Trial) -> int:
    """Sources in Spark's checkpoint that have read a file of the control folder."""
    sources = (trial.folder / "checkpoint/out/spark/sources").iterdir()
    logs = ["".join(file.read_text() for file in source.glob("[0-9]*")) for source in sources]
    return sum("/control/" in log for log in logs)


def test_all_operators_of_a_pipeline_end_in_the_same_micro_batch(spark, tmp_path):
    trial = trial_of(spark, tmp_path, CHAIN)
    run = trial.start()
    try:
        run.process_available()
        [running] = run.running
        before = running.ledger_store.batch
        run.flush()
        assert running.ledger_store.batch == before + 1
        assert len({each["operator"] for each in running.ledger_store.stats.values()}) == 4
        assert running.ledger_store.ended
    finally:
        run.stop()
    assert control_sources(trial) == 1
    assert trial.rows() == Counter([("1", "2", "None"), ("2", "None", "None")])


@pytest.mark.slow
def test_a_flush_ends_although_every_batch_is_followed_by_new_rows(spark, tmp_path, monkeypatch):
    sql = SOURCES.replace("'json')", "'json', 'max.files.per.batch' = '1')") + COUNTS
    trial = Trial(spark, tmp_path, sql)
    added = count(1)

    def add() -> None:
        number = next(added)
        trial.add("clicks", f"{number}.json", [json.dumps({"id": number, "k": "a", "at": at(1)})])

    write = QueryWriter.write

    def add_and_write(self: QueryWriter, frame: DataFrame, batch: int) -> None:
        if batch < 20:  # so that the test ends if the run does not
            add()
        write(self, frame, batch)

    monkeypatch.setattr(QueryWriter, "write", add_and_write)
    add()
    settings = RunSettings(tmp_path, tmp_path / "checkpoint", once=True, flush=True)
    runner = Runner(build_job(sql), settings, lambda: spark)
    runner.start()
    while not runner.done(10):
        pass
    assert runner.error is None
    assert runner.run is not None
    [running] = runner.run.running
    assert running.ledger_store.ended
    assert running.ledger_store.batch < 5
    assert runner.run.status(running.plan) is Status.COMPLETED
    assert trial.rows() == Counter([("a", "2")])


@pytest.mark.slow
def test_spark_own_join_has_one_control_source(spark, tmp_path):
    trial = trial_of(spark, tmp_path, NATIVE)
    run = trial.start(once=True, flushes=True)
    try:
        while not run.wait(30):
            pass
        run.flush()
    finally:
        run.stop()
    assert control_sources(trial) == 1
    assert trial.rows() == Counter([("1", "a"), ("1", "a"), ("2", "None")])
