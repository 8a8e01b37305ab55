"""System columns of sources: values, read by Spark or by packers, and the same after a retry."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.run.trial import Trial, at

import millstream as ms

SQL = """
CREATE SOURCE orders (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE SOURCE shipments (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'orc');
CREATE SOURCE arrivals (id STRING, arrived AS _TIMESTAMP, WATERMARK FOR arrived AS arrived)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE SINK rows WITH ('connector' = 'file', 'path' = 'out/rows', 'format' = 'csv') AS
SELECT id, _TIMESTAMP, _SOURCE, _PROCESSING_TIME FROM orders WHERE _timestamp < '2026-02-01';
CREATE SINK pairs WITH ('connector' = 'file', 'path' = 'out/pairs', 'format' = 'csv') AS
SELECT o.id, o._timestamp AS a, s._timestamp AS b
FROM orders o JOIN shipments s WITHIN INTERVAL 1 HOUR ON o.id = s.id;
CREATE SINK hours WITH ('connector' = 'file', 'path' = 'out/hours', 'format' = 'csv') AS
SELECT _source AS name, count(*) AS n, _WINDOW_START AS start FROM arrivals
WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY _source;
"""
FIRST, SECOND = datetime(2026, 1, 15, 8, 30, tzinfo=UTC), datetime(2026, 1, 15, 9, 30, tzinfo=UTC)


def _set_modified(folder: Path, moment: datetime) -> None:
    when = moment.timestamp()
    for path in folder.iterdir():
        os.utime(path, (when, when))


def _run(trial: Trial, *, to_the_end: bool) -> None:
    run = trial.start()
    try:
        run.process_available()
        if to_the_end:
            run.flush()
        run.raise_failure()
    finally:
        run.stop()


@pytest.mark.slow
def test_rows_have_the_times_and_the_name_of_their_source_also_in_a_retried_batch(spark, tmp_path):
    trial = Trial(spark, tmp_path, SQL)
    rows = spark.sql(f"SELECT 'B' AS id, TIMESTAMP '{at(5)}' AS at")
    rows.coalesce(1).write.orc(str(tmp_path / "in/shipments"))
    _set_modified(tmp_path / "in/shipments", SECOND)
    trial.add("orders", "1.csv", ["id,at", f"A,{at(0)}", f"B,{at(1)}"])
    _set_modified(tmp_path / "in/orders", FIRST)
    _run(trial, to_the_end=False)
    offsets = (tmp_path / "checkpoint/rows/spark/offsets/0").read_text().splitlines()
    batch = datetime.fromtimestamp(json.loads(offsets[1])["batchTimestampMs"] / 1000, UTC)
    expected = Counter([("A", FIRST, "orders", batch), ("B", FIRST, "orders", batch)])
    assert _rows(trial) == expected

    (written,) = (tmp_path / "out/rows").glob("[!._]*")
    written.unlink()
    trial.forget_last_commit("rows")
    _run(trial, to_the_end=True)
    assert _rows(trial) == expected
    assert _rows(trial, "pairs") == Counter([("B", FIRST, SECOND)])
    start = FIRST.replace(minute=0)
    assert _rows(trial, "hours") == Counter([("arrivals", "2", start)])


def _rows(trial: Trial, sink: str = "rows") -> Counter[tuple[str | datetime, ...]]:
    """Returns the rows of a sink with times as values."""
    found: Counter[tuple[str | datetime, ...]] = Counter()
    for row, count in trial.rows(f"out/{sink}").items():
        found[tuple(datetime.fromisoformat(x) if x.endswith("Z") else x for x in row)] = count
    return found


def test_a_stream_in_python_has_system_columns(spark):
    ticks = ms.stream(spark.readStream.format("rate").load(), time="timestamp", name="ticks")
    named = ticks.select("value", "_SOURCE AS name", "_TIMESTAMP AS arrived", "_PROCESSING_TIME")
    assert named.columns == ["value", "name", "arrived", "_PROCESSING_TIME"]
    kinds = [kind for _, kind in named.to_df().dtypes]
    assert kinds == ["bigint", "string", "timestamp", "timestamp"]
