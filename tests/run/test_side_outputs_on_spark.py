"""Executors write late rows and dead letters; the driver receives messages, not rows."""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tests.recovery.jobs import start
from tests.run.trial import Trial, at

from millstream.connectors.memory import MemorySink
from millstream.connectors.sink import BatchId
from millstream.engine.compile.stable_tasks import in_stable_tasks
from millstream.engine.processor.routing import BatchReport
from millstream.errors import PlanError, RunError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import SinkDef
from millstream.run.job import JobRun

LATE_ROWS = 2_000_000
MANY_LATE = """
SET 'spark.driver.maxResultSize' = '1m';
CREATE SOURCE clicks (id BIGINT, page STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in', 'format' = 'parquet', 'max.files.per.batch' = '1');
CREATE SINK late WITH ('connector' = 'file', 'path' = 'late', 'format' = 'parquet');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT page, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY page
EMIT FINAL WITH ('late.policy' = 'side_output', 'late.sink' = 'late');
"""
WINDOWED = """
CREATE SOURCE clicks (id BIGINT, tag STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/clicks', 'format' = 'csv',
        'max.files.per.batch' = '1', 'malformed' = 'dead_letter');
{sink}
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT tag, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY tag
EMIT FINAL WITH ('late.policy' = 'side_output', 'late.sink' = 'late');
"""
SINK_OF_LATE = "CREATE SINK late WITH ('connector' = 'file', 'path' = 'late', 'format' = '{form}');"


def clicks(path: Path, ids: np.ndarray, moment: datetime, age: int) -> None:
    times = np.full(len(ids), int(moment.timestamp() * 1_000_000))
    pages = pa.array(ids % 1000).cast(pa.string())
    table = pa.table({"id": ids, "page": pages, "at": pa.array(times, pa.timestamp("us", "UTC"))})
    pq.write_table(table, path)
    os.utime(path, (age, age))


@pytest.mark.slow
def test_two_million_late_rows_are_written_by_executors_and_the_driver_receives_messages(tmp_path):
    """Spark fails a job whose tasks send the driver more than maxResultSize: 1 MB, less than one
    byte for each late row."""
    (tmp_path / "in").mkdir()
    ids = np.random.default_rng(1).permutation(LATE_ROWS)
    clicks(tmp_path / "in" / "0.parquet", ids[:1], datetime(2026, 1, 15, 12, tzinfo=UTC), 1000)
    clicks(tmp_path / "in" / "1.parquet", ids, datetime(2026, 1, 15, 10, tzinfo=UTC), 2000)
    (tmp_path / "job.sql").write_text(MANY_LATE)
    process = start(tmp_path, "--once", "--flush")
    out, err = process.communicate(timeout=280)
    assert process.returncode == 0, out + err
    files = sorted((tmp_path / "late").glob("*.parquet"))
    assert all(re.fullmatch(r"000001-\d+\.out\.parquet", path.name) for path in files), files
    found = np.concatenate([pq.read_table(path, columns=["id"])["id"].to_numpy() for path in files])
    assert len(found) == LATE_ROWS
    assert np.array_equal(np.sort(found), np.arange(LATE_ROWS))
    assert re.search(r"2,?000,?000", out), out


@pytest.mark.parametrize(
    "form",
    ["json", "csv", "parquet", "csv', 'compression' = 'gzip", "json', 'partition.by' = 'tag"],
)
def test_late_rows_and_dead_letters_of_a_batch_are_written_once(spark, tmp_path, form, monkeypatch):
    received: list[int] = []
    whole = BatchReport.of

    def of(rows):
        received.append(sum(len(row.message) for row in rows))
        assert all(row.data is None for row in rows)
        return whole(rows)

    monkeypatch.setattr(BatchReport, "of", of)
    trial = Trial(spark, tmp_path, WINDOWED.format(sink=SINK_OF_LATE.format(form=form)))
    trial.add("clicks", "1.csv", ["id,tag,at", f"1,a,{at(30)}", "x,y,z"])
    trial.once()
    trial.add("clicks", "2.csv", ["id,tag,at", *(f"{n},late,{at(1)}" for n in range(20_000))])
    ledger = trial.flushed()
    assert max(received) < 20_000
    assert ledger.written == {"late rows in late": 20_000, "dead letters of clicks": 1}
    reader = spark.read.option("header", "true").format(re.split("'", form)[0])
    late = reader.load(str(tmp_path / "late"))
    rows = late.select(F.col("id").cast("int"), "tag", "_source", "_lateness_ms").collect()
    assert sorted(row.id for row in rows) == list(range(20_000))
    assert {(row.tag, row._source, int(row._lateness_ms)) for row in rows} == {
        ("late", "clicks", 29 * 60_000)
    }
    [letter] = trial.read("checkpoint/out/dead-letter/clicks")
    assert letter["_raw"] == "x,y,z"


def test_a_late_sink_that_cannot_write_a_column_is_rejected_before_the_job_runs(spark, tmp_path):
    sink = (
        "CREATE SINK late WITH ('connector' = 'file', 'path' = 'late', 'format' = 'csv', "
        "'timestamp.format' = 'EEEE');"
    )
    trial = Trial(spark, tmp_path, WINDOWED.format(sink=sink))
    trial.add("clicks", "1.csv", ["id,tag,at"])
    with pytest.raises(PlanError) as caught:
        trial.start()
    assert caught.value.code == "MS-PLAN-TIMESTAMP-FORMAT"


def test_a_folder_that_cannot_be_written_is_named_as_the_cause(spark, tmp_path):
    trial = Trial(spark, tmp_path, WINDOWED.format(sink=SINK_OF_LATE.format(form="json")))
    (tmp_path / "out").write_text("a file, not a folder")
    trial.add("clicks", "1.csv", ["id,tag,at", f"1,a,{at(30)}"])
    with pytest.raises(RunError) as caught:
        trial.flushed()
    assert caught.value.code == "MS-RUN-SINK"
    assert str(tmp_path / "out") in str(caught.value)


class Stable(MemorySink):
    """A sink that must get the same tasks for a retried batch."""

    stable_tasks = True

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[BatchId] = []

    def begin(self, batch: BatchId):
        self.batches.append(batch)
        return super().begin(batch)


def test_a_sink_that_needs_stable_tasks_gets_the_recorded_number_of_them(spark, tmp_path):
    sql = """
    CREATE SOURCE numbers (n INT) WITH ('connector' = 'file', 'path' = 'in/numbers',
      'format' = 'csv', 'max.files.per.batch' = '1');
    CREATE SINK out WITH ('connector' = 'console') AS SELECT n FROM numbers;
    """
    trial = Trial(spark, tmp_path, sql)
    trial.add("numbers", "1.csv", ["n", *map(str, range(100))])
    sinks: dict[str, Stable] = {}
    job = build_job(sql)

    def opened(sink: SinkDef) -> Stable:
        return sinks.setdefault(sink.name, Stable())

    run = JobRun(spark, job, tmp_path / "checkpoint", tmp_path, sinks=opened)
    run.start({"availableNow": True})
    while not run.wait(60):
        pass
    run.stop()
    assert sorted(row["n"] for row in sinks["out"].rows()) == list(range(100))
    checkpoint = run.running[0].checkpoint
    assert checkpoint.tasks(0, 99) == int(spark.conf.get("spark.sql.shuffle.partitions"))
    assert checkpoint.tasks(1, 99) == 99
    has_started = [batch for sink in sinks.values() for batch in sink.batches]
    assert has_started == [
        BatchId(checkpoint.uuid, "out", "main", 0),
        BatchId(checkpoint.uuid, "out", "rejected rejected", 0),
    ]


def test_equal_rows_are_in_equal_tasks_whatever_partitions_they_come_from(spark):
    def tasks(partitions: int) -> Counter[tuple[int, int]]:
        rows = spark.range(200, numPartitions=partitions).selectExpr(
            "id % 50 AS n", "map('a', id % 50) AS m"
        )
        numbered = in_stable_tasks(rows, 3).select("n", F.spark_partition_id().alias("task"))
        return Counter((row.n, row.task) for row in numbered.collect())

    assert tasks(1) == tasks(4)
    assert {task for _, task in tasks(1)} == {0, 1, 2}
