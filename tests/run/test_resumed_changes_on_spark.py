"""A job resumes after changes that its state does not depend on, with exact rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession
from tests.run.trial import Trial, at

from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.run.checkpoint import Checkpoint

SQL = """
SET 'key_groups' = '2';
CREATE SOURCE clicks (id INT, tag STRING{extra}, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL {delay}) WITH ('connector' = 'file', 'path' = 'in/clicks',
  'format' = 'csv', 'max.files.per.batch' = '1');
CREATE SINK out WITH ('connector' = 'file', 'path' = '{path}') AS
SELECT tag, n FROM (
  SELECT tag, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY tag EMIT FINAL
) c {where};
"""
FIRST = {"extra": "", "delay": "5 SECONDS", "path": "out", "where": ""}
FILTERED = {**FIRST, "where": "WHERE n > 1"}
MOVED = {**FILTERED, "extra": ", extra STRING", "delay": "10 MINUTES", "path": "new"}


def _once(trial: Trial, values: dict[str, str]) -> list[str]:
    """Runs a version of the job. Returns what has changed since the run before."""
    trial.sql = SQL.format(**values)
    job = build_job(trial.sql)
    [query] = group_into_queries(job)
    found = Checkpoint(trial.folder / "checkpoint/out").changes(query, job.sinks)
    trial.once()
    return found


def test_a_job_resumes_after_changes_of_its_output_and_delay(
    spark: SparkSession, tmp_path: Path
) -> None:
    trial = Trial(spark, tmp_path, "")
    rows = [f"1,a,{at(1)}", f"2,a,{at(1, 1)}", f"3,b,{at(1, 2)}", f"4,c,{at(5)}"]
    trial.add("clicks", "1.csv", ["id,tag,at", *rows])
    assert _once(trial, FIRST) == []
    assert trial.rows() == Counter({("a", "2"): 1, ("b", "1"): 1})

    trial.forget_last_commit()  # as after a kill: the batch runs again, with the new predicate
    assert _once(trial, FILTERED) == ["output out where: none -> `c`.`n` > 1"]
    assert trial.rows() == Counter({("a", "2"): 1})

    # The watermark does not decrease: y is late, though the longer delay would allow it.
    rows = [
        f"{n},{tag},,{at(*time)}"
        for n, tag, time in (
            (5, "y", (1, 30)),
            (6, "y", (1, 31)),
            (7, "d", (5, 10)),
            (8, "d", (5, 11)),
            (9, "x", (20,)),
        )
    ]
    trial.add("clicks", "2.csv", ["id,tag,extra,at", *rows])
    assert _once(trial, MOVED) == [
        "output out sink path: out -> new",
        "sources clicks columns extra is new: type string",
        "sources clicks watermark delay: 5s -> 10m",
    ]
    assert trial.rows() == Counter({("a", "2"): 1})
    assert trial.rows("new") == Counter({("d", "2"): 1})
