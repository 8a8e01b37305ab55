"""Late rows of several queries in one sink, and dead letters of a source that several read."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession
from tests.run.trial import Trial, at

SQL = """
SET 'key_groups' = '2';
CREATE SOURCE clicks (id INT, tag STRING, at TIMESTAMP,
  WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/clicks', 'format' = 'csv',
        'max.files.per.batch' = '1', 'dead_letter.sink' = 'bad');
CREATE SINK late WITH ('connector' = 'file', 'path' = 'late', 'format' = 'csv');
CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');
CREATE SINK tags WITH ('connector' = 'file', 'path' = 'tags') AS
SELECT tag, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY tag
EMIT FINAL WITH ('late.policy' = 'side_output', 'late.sink' = 'late');
CREATE SINK ids WITH ('connector' = 'file', 'path' = 'ids') AS
SELECT id, count(*) AS n FROM clicks WHERE id > 0
WINDOW TUMBLING(INTERVAL 2 MINUTES) GROUP BY id
EMIT FINAL WITH ('late.policy' = 'side_output', 'late.sink' = 'late');
"""
HEADER = "id,tag,at"


def _runs(trial: Trial) -> None:
    run = trial.start(once=True)
    try:
        while not run.wait(30):
            pass
    finally:
        run.stop()


def test_rows_of_several_queries_are_in_their_side_sinks_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    trial = Trial(spark, tmp_path, SQL)
    trial.add("clicks", "1.csv", [HEADER, f"1,a,{at(30)}", f"x,b,{at(30)}", "2,c,never"])
    os.utime(tmp_path / "in/clicks/1.csv", (1000, 1000))  # it is read first
    trial.add("clicks", "2.csv", [HEADER, f"3,d,{at(1)}", f"4,e,{at(1)}", f"y,f,{at(31)}"])
    _runs(trial)
    # As after a crash between the commit of the sinks and Spark's.
    trial.forget_last_commit("tags")
    trial.forget_last_commit("ids")
    _runs(trial)
    assert Counter((row["_column"], row["_raw"]) for row in trial.read("bad")) == {
        ("id", f"x,b,{at(30)}"): 1,
        ("at", "2,c,never"): 1,
        ("id", f"y,f,{at(31)}"): 1,
    }
    late = trial.read("late")
    assert {tuple(row) for row in late} == {
        ("id", "tag", "at", "_source", "_query", "_lateness_ms")
    }
    assert Counter((row["_query"], row["tag"], row["id"]) for row in late) == {
        ("tags", "d", "3"): 1,
        ("tags", "e", "4"): 1,
        ("ids", "d", "3"): 1,
        ("ids", "e", "4"): 1,
    }
    names = {path.name.partition(".")[2] for path in (tmp_path / "late").iterdir()}
    assert names == {"tags.csv", "ids.csv"}
    assert {path.name.split(".")[1] for path in (tmp_path / "bad").iterdir()} == {"tags"}
