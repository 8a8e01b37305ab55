"""A job goes on where it was: same rows, and an ledger that goes on adding up."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.run.trial import Trial, at

from millstream.errors import StateError
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.run.checkpoint import Checkpoint

SQL = """
CREATE SOURCE orders (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE SOURCE shipments (id STRING, carrier STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id, s.carrier FROM orders o LEFT JOIN shipments s
  ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES;
"""


@pytest.fixture
def trial(spark, tmp_path):
    made = Trial(spark, tmp_path, SQL)
    made.add("orders", "1.csv", ["id,at", f"A,{at(0)}", f"B,{at(1)}", f"C,{at(2)}"])
    made.add("shipments", "1.csv", ["id,carrier,at", f"B,UPS,{at(4)}"])
    return made


@pytest.mark.slow
def test_three_runs_give_what_one_would_and_the_account_goes_on(trial):
    first = trial.once()
    assert (first.total_in, first.rows_out) == (4, 1)
    assert sum(each["in_state"] for each in first.inputs) == 4

    trial.add("shipments", "2.csv", ["id,carrier,at", f"C,DHL,{at(12)}", f"A,UPS,{at(10, 1)}"])
    second = trial.once()
    assert (second.total_in, second.matches, second.rows_out) == (6, 2, 2)

    trial.add("orders", "2.csv", ["id,at", f"D,{at(30)}"])
    last = trial.flushed()
    assert (last.total_in, last.matches, last.unmatched, last.rows_out) == (7, 2, 2, 4)
    assert sum(each["in_state"] for each in last.inputs) == 0
    assert trial.rows() == Counter([("B", "UPS"), ("C", "DHL"), ("A", ""), ("D", "")])


@pytest.mark.slow
def test_a_batch_that_was_written_but_not_done_is_written_again_in_its_place(trial):
    first = trial.once()
    rows = trial.rows()
    assert rows == Counter([("B", "UPS")])
    commits = trial.folder / "checkpoint/out/spark/commits"
    for file in commits.glob("*0*"):  # as after a crash between the sink's write and the commit
        file.unlink()
    again = trial.once()
    assert trial.rows() == rows
    assert again.as_data() == first.as_data()


def test_a_changed_plan_does_not_go_on_from_an_old_checkpoint(trial):
    trial.once()
    trial.sql = SQL.replace("10 MINUTES", "20 MINUTES")
    with pytest.raises(StateError) as caught:
        trial.start()
    assert caught.value.code == "MS-STATE-CHANGED"
    assert "interval join bounds upper: 10m -> 20m" in caught.value.cause


MANY = """
CREATE SOURCE orders (id STRING, id2 STRING, x INT, at TIMESTAMP, at2 TIMESTAMP,
  WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE SOURCE shipments (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'csv');
SET 'key_groups' = '4';
CREATE SINK windows WITH ('connector' = 'file', 'path' = 'out/windows', 'format' = 'csv') AS
SELECT o.id FROM orders o JOIN shipments s ON o.id = s.id WINDOW TUMBLING(INTERVAL 1 HOUR)
  WITH ('window.lateness' = '1m');
CREATE SINK pairs WITH ('connector' = 'file', 'path' = 'out/pairs', 'format' = 'csv') AS
SELECT o.id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.id = s.id
  WITH ('join.salt' = '2');
CREATE SINK totals WITH ('connector' = 'file', 'path' = 'out/totals', 'format' = 'csv') AS
SELECT id, sum(x) AS total FROM orders WINDOW TUMBLING(INTERVAL 1 DAY) GROUP BY id;
"""


@pytest.fixture(scope="module")
def has_started(spark, tmp_path_factory):
    """A job with queries of several kinds that has run once."""
    made = Trial(spark, tmp_path_factory.mktemp("begun"), MANY)
    made.add("orders", "1.csv", ["id,id2,x,at,at2", f"A,A,1,{at(0)},{at(0)}"])
    made.add("shipments", "1.csv", ["id,at", f"A,{at(1)}"])
    run = made.start(once=True)
    try:
        while not run.wait(30):
            pass
    finally:
        run.stop()
    return made


def check(trial: Trial, sql: str) -> None:
    """Checks a job against the checkpoints of another, as `run` does before Spark is started."""
    for query in group_into_queries(build_job(sql)):
        checkpoint = Checkpoint(trial.folder / "checkpoint" / query.name)
        assert checkpoint.has_started
        checkpoint.check(query)


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("INTERVAL 1 HOUR", "INTERVAL 2 HOURS", "window join windows 1 size: 1h -> 2h"),
        ("'1m'", "'2m'", "window join lateness: 1m -> 2m"),
        (
            "MINUTES ON o.id = s.id",
            "MINUTES ON o.id2 = s.id",
            "join keys left: `o`.`id` -> `o`.`id2`",
        ),
        ("FOR at AS at)\n", "FOR at2 AS at2)\n", "sources orders watermark column: at -> at2"),
        ("'join.salt' = '2'", "'join.salt' = '4'", "interval join salt: 2 -> 4"),
        ("sum(x)", "max(x)", "aggregate calls a0 function: sum -> max"),
    ],
)
def test_a_changed_job_does_not_resume(has_started, old, new, change):
    assert old in MANY
    with pytest.raises(StateError) as caught:
        check(has_started, MANY.replace(old, new, 1))
    assert caught.value.code == "MS-STATE-CHANGED"
    assert change in caught.value.cause


def test_a_job_in_other_spacing_and_case_resumes(has_started):
    changed = Trial(has_started.spark, has_started.folder, MANY.replace("sum(x)", "SUM( x )"))
    run = changed.start(once=True)
    try:
        while not run.wait(30):
            pass
    finally:
        run.stop()
