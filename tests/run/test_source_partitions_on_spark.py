"""Watermarks of a source with partitions, on Spark: work items name their partition."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.run.partitioned_files import SPEC
from tests.run.trial import Trial, at, ledger

from millstream.engine.shuffle.control_stream import end_of_input
from millstream.plan.installed_connectors import installed_connectors
from millstream.run.job import JobRun

SOURCE = """
CREATE SOURCE events (k STRING, t TIMESTAMP, WATERMARK FOR t AS t)
  WITH ('connector' = 'partitioned', 'path' = 'in/events', 'format' = 'csv',
        'idle.timeout' = '1h');
"""
SINK = """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT date_format(_WINDOW_START, 'mm') AS minute, COUNT(*) AS n FROM {rows}
WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY k WITH ('late.policy' = 'side_output');
"""
# Packers read the files if they need no more than columns; otherwise Spark passes rows to them.
BY_PACKERS = SOURCE + SINK.format(rows="events")
BY_SPARK = f"""{SOURCE}
CREATE STREAM cleaned AS SELECT trim(k) AS k, t FROM events WHERE length(k) > 0;
{SINK.format(rows="cleaned")}"""
WITH_A_TABLE = f"""{SOURCE}
CREATE TABLE names (k STRING, name STRING, PRIMARY KEY (k))
  WITH ('connector' = 'file', 'path' = 'names.csv', 'format' = 'csv');
CREATE STREAM named AS SELECT n.name AS k, e.t FROM events e JOIN names n ON e.k = n.k;
{SINK.format(rows="named")}"""
QUERIES = {"by packers": BY_PACKERS, "by Spark": BY_SPARK, "with a table": WITH_A_TABLE}
HOUR = 3_600_000_000


class Partitions:
    """A trial whose source has partitions."""

    def __init__(self, spark: SparkSession, folder: Path, sql: str) -> None:
        connectors = installed_connectors().with_spec(SPEC)
        self.trial = Trial(spark, folder, sql, connectors)
        (folder / "in/events").mkdir(parents=True)
        (folder / "partitions").write_text("p0\np1\n")
        (folder / "names.csv").write_text("k,name\na,Ada\n")
        self._files = 0

    def add(self, **rows: list[str]) -> None:
        """Files of one batch: times by partition."""
        for partition, times in rows.items():
            self._files += 1
            lines = ["k,t", *(f"a,{time}" for time in times)]
            self.trial.add("events", f"{partition}-{self._files:03d}.csv", lines)

    def closed(self, run: JobRun, **rows: list[str]) -> Counter[tuple[str, ...]]:
        """Runs a batch with these rows; returns the windows that it closed: minute and count."""
        before = self.trial.rows()
        self.add(**rows)
        run.process_available()
        return self.trial.rows() - before


def windows(*found: tuple[str, str]) -> Counter[tuple[str, ...]]:
    return Counter(found)


@pytest.mark.slow
@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_the_watermark_of_a_source_is_the_minimum_over_its_partitions(
    spark: SparkSession, tmp_path: Path, sql: str
) -> None:
    made = Partitions(spark, tmp_path, sql)
    run = made.trial.start()
    try:
        # p1 is announced: it is waited for, though it has had no rows.
        assert made.closed(run, p0=[at(0), at(1), at(2)]) == windows()
        assert made.closed(run, p1=[at(0, 30), at(1, 30)]) == windows(("00", "2"))
    finally:
        run.stop()

    run = made.trial.start()  # the progress of each partition is in state
    try:
        assert made.closed(run, p0=[at(5)]) == windows()
        run.send_processing_time(int(time.time() * 1_000_000) + 2 * HOUR)
        run.process_available()
        # Both are idle. p0 has rows again and decides alone.
        found = made.closed(run, p0=[at(6)])
        assert found == windows(("01", "2"), ("02", "1"), ("05", "1"))
        # p2 is new: it is waited for from now on, and W does not go back for it.
        assert made.closed(run, p0=[at(9)], p2=[at(4), at(6, 30)]) == windows()
    finally:
        run.stop()
    assert late_times(made.trial) == [at(4)]

    made.trial.forget_last_commit()
    run = made.trial.start()  # the last batch is run again, and decides the same
    try:
        assert made.closed(run, p2=[at(8)]) == windows(("06", "2"))
        assert late_times(made.trial) == [at(4)]
        [running] = run.running
        end_of_input(running.checkpoint.control, "events", "p2")
        assert made.closed(run) == windows(("08", "1"))  # W is that of p0
        run.flush()
        assert made.closed(run) == windows()
    finally:
        run.stop()
    assert made.trial.rows() == windows(
        ("00", "2"), ("01", "2"), ("02", "1"), ("05", "1"), ("06", "2"), ("08", "1"), ("09", "1")
    )
    counted = ledger(run)
    assert counted.balanced
    assert [(each["in"], each["late"]) for each in counted.inputs] == [(11, 1)]


STATELESS = """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT k, minute(t) AS m FROM events;
"""
NATIVE = """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT minute(_WINDOW_START) AS m, COUNT(*) AS n FROM events
WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY k WITH ('engine' = 'native');
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "expected"),
    [(STATELESS, ("a", "1")), (NATIVE, ("1", "1"))],
    ids=["stateless", "native"],
)
def test_rows_of_partitions_are_read_by_queries_without_our_watermarks(
    spark: SparkSession, tmp_path: Path, sql: str, expected: tuple[str, str]
) -> None:
    made = Partitions(spark, tmp_path, SOURCE.replace(",\n        'idle.timeout' = '1h'", "") + sql)
    made.add(p0=[at(1)])
    run = made.trial.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    assert made.trial.rows() == windows(expected)


def late_times(trial: Trial) -> list[str]:
    times = [datetime.fromisoformat(row["t"]) for row in trial.read("checkpoint/out/late")]
    return [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in times]
