"""Every file that appears is read once, whatever its modification time says."""

from __future__ import annotations

import os
import time
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
from tests.run.trial import Trial

import millstream as ms
from millstream.engine.shuffle.control_stream import (
    ControlStream,
    control_packets,
    send_processing_time,
)

DAY = 86_400
SELECT = """
CREATE SOURCE numbers (n INT)
  WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT n FROM numbers;
"""


def _add(trial: Trial, name: str, number: int, days: float) -> None:
    """Add a file of one row whose modification time is `days` from now."""
    trial.add("numbers", f".{name}", ["n", str(number)])
    hidden = trial.folder / "in/numbers" / f".{name}"
    when = time.time() + days * DAY
    os.utime(hidden, (when, when))
    target = trial.folder / "in/numbers" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden.rename(target)


def test_files_are_read_whatever_their_modification_time(spark, tmp_path):
    trial = Trial(spark, tmp_path, SELECT)
    _add(trial, "future.csv", 1, days=8)
    run = trial.start()
    try:
        run.process_available()
        _add(trial, "now.csv", 2, days=0)
        run.process_available()
        _add(trial, "past.csv", 3, days=-8)
        run.process_available()
        _add(trial, "epoch.csv", 4, days=-20_000)
        run.process_available()
        assert trial.rows() == Counter([("1",), ("2",), ("3",), ("4",)])
    finally:
        run.stop()
    _add(trial, "after-restart.csv", 5, days=-30)
    _add(trial, "year-3000.csv", 6, days=365 * 974)
    trial.once()
    _add(trial, "after-year-3000.csv", 7, days=0)
    trial.once()
    assert trial.rows() == Counter([(str(number),) for number in range(1, 8)])


def test_the_control_stream_reads_messages_whatever_the_clock_said(spark, tmp_path):
    """A clock that was set wrong for a while must not silence later messages."""
    control = tmp_path / "control"
    control.mkdir()
    stream = control_packets(ControlStream(spark, str(control)), (0,), about_time=True)
    packets = stream.select("now")
    query = packets.writeStream.format("memory").queryName("control_times").start()
    try:
        for now, days in ((1, 400), (2, 0), (3, -400)):
            send_processing_time(control, now)
            when = time.time() + days * DAY
            os.utime(control / f"time-{now}.json", (when, when))
            query.processAllAvailable()
        found = spark.sql("SELECT now FROM control_times ORDER BY now").collect()
        assert [row.now for row in found] == [1, 2, 3]
    finally:
        query.stop()


def test_a_stream_given_in_python_is_read_whatever_the_modification_times(spark, tmp_path):
    def write(number: int, days: float) -> None:
        hidden = tmp_path / f".{number}.parquet"
        pq.write_table(pa.table({"x": [number]}), hidden)
        when = time.time() + days * DAY
        os.utime(hidden, (when, when))
        hidden.rename(tmp_path / f"{number}.parquet")

    rows = spark.readStream.schema("x bigint").parquet(str(tmp_path))
    counted = ms.sql(
        "SELECT x, COUNT(*) AS n FROM s GROUP BY x EMIT CHANGES WITH ('state.ttl' = 'forever')",
        s=rows,
    ).to_df()
    query = counted.writeStream.format("memory").queryName("python_times").start()
    try:
        for number, days in ((1, 8), (2, 0), (3, -8)):
            write(number, days)
            query.processAllAvailable()
        found = spark.sql("SELECT x, n FROM python_times ORDER BY x").collect()
        assert [tuple(row) for row in found] == [(1, 1), (2, 1), (3, 1)]
    finally:
        query.stop()


def test_files_of_one_name_in_several_folders_are_all_read_and_hidden_ones_are_not(spark, tmp_path):
    sql = SELECT.replace("in/numbers", "in/*")
    trial = Trial(spark, tmp_path, sql)
    for number, folder in enumerate(("a", "b", "c")):
        trial.add(folder, "same.csv", ["n", str(number)])
    for name in ("_hidden.csv", ".hidden.csv"):
        (tmp_path / "in/a" / name).write_text("n\n99\n")
    trial.once()
    assert trial.rows() == Counter([("0",), ("1",), ("2",)])
    (tmp_path / "in/a/_hidden.csv").rename(tmp_path / "in/a/shown.csv")
    trial.once()
    assert trial.rows() == Counter([("0",), ("1",), ("2",), ("99",)])
