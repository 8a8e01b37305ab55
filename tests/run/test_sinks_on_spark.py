"""File sinks: a batch once, readable at any time. Late rows have a sink of their own."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.connectors.sink_writer import write_frame
from tests.run.trial import Trial, at

from millstream.connectors.file.sink import FileSink
from millstream.errors import PlanError

SELECT = """
CREATE SOURCE numbers (n INT, word STRING)
  WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = '{form}') AS
SELECT n, word FROM numbers WHERE n > 0;
"""
LATE = """
CREATE SOURCE orders (id STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE SOURCE shipments (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'csv');
{sink}
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id FROM orders o JOIN shipments s ON o.id = s.id
  AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES
EMIT CHANGES WITH ('late.policy' = 'side_output'{named});
"""


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_files_can_be_read_while_the_job_runs(spark, tmp_path, form):
    trial = Trial(spark, tmp_path, SELECT.format(form=form))
    trial.add("numbers", "1.csv", ["n,word", "1,one", "0,none", "2,two"])
    run = trial.start()
    try:
        run.process_available()
        assert trial.rows() == Counter([("1", "one"), ("2", "two")])
        trial.add("numbers", "2.csv", ["n,word", "2,two"])
        run.process_available()
        assert run.running[0].streaming_query.isActive
        assert trial.rows() == Counter([("1", "one"), ("2", "two"), ("2", "two")])
    finally:
        run.stop()
    names = [path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    assert all(name.split("-")[0] in ("000000", "000001") for name in names), names
    ledger = run.running[0].ledger_store.ledger
    assert ledger.as_data()["inputs"]["numbers"]["filtered"] == 1
    assert ledger.errors == []


def test_a_column_that_files_cannot_hold_is_rejected_by_name(spark, tmp_path):
    sink = FileSink(str(tmp_path / "out"), "parquet")
    with pytest.raises(PlanError, match="column span has the type interval"):
        write_frame(sink, spark.sql("SELECT make_interval(1) AS span"), 0)


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_batch_that_is_written_again_replaces_itself(spark, tmp_path, form):
    trial = Trial(spark, tmp_path, "")
    sink = FileSink(str(tmp_path / "out"), form)
    write_frame(sink, spark.range(0, 3, numPartitions=3), 0)
    write_frame(sink, spark.range(10, 12, numPartitions=2), 1)
    write_frame(sink, spark.range(3, 5, numPartitions=1), 0)
    assert trial.rows() == Counter([("3",), ("4",), ("10",), ("11",)])


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["late", ""], ids=["in a sink", "beside the checkpoint"])
def test_late_rows_are_put_out_and_counted(spark, tmp_path, sink):
    declared = "CREATE SINK late WITH ('connector' = 'file', 'path' = 'late', 'format' = 'json');"
    named = ", 'late.sink' = 'late'" if sink else ""
    trial = Trial(spark, tmp_path, LATE.format(sink=declared if sink else "", named=named))
    trial.add("orders", "1.csv", ["id,amount,at", f"A,1,{at(30)}"])
    trial.add("shipments", "1.csv", ["id,at", f"A,{at(31)}"])
    assert trial.once().rows_out == 1
    trial.add("orders", "2.csv", ["id,amount,at", f"B,2,{at(29)}"])
    trial.add("shipments", "2.csv", ["id,at", f"B,{at(28)}", f"B,{at(32)}"])
    ledger = trial.flushed()
    assert [each["late"] for each in ledger.inputs] == [1, 1]
    found = trial.read("late" if sink else "checkpoint/out/late")
    rows = {(row["_source"], row["id"], row["amount"], row["_lateness_ms"]) for row in found}
    assert rows == {("orders", "B", 2, 60_000), ("shipments", "B", None, 120_000)}


@pytest.mark.parametrize(("form", "compression"), [("csv", "gzip"), ("json", ""), ("parquet", "")])
def test_a_partitioned_sink_has_a_folder_a_value_and_batches_replace_themselves(
    spark, tmp_path, form, compression
):
    options = {"compression": compression} if compression else {}
    sink = FileSink(str(tmp_path / "out"), form, partition_by=("odd",), options=options)
    write_frame(sink, spark.range(0, 3, numPartitions=2).selectExpr("id", "id % 2 AS odd"), 0)
    write_frame(sink, spark.range(10, 12, numPartitions=1).selectExpr("id", "id % 2 AS odd"), 1)
    write_frame(sink, spark.range(4, 5, numPartitions=1).selectExpr("id", "id % 2 AS odd"), 0)
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in _files(tmp_path / "out"))
    ending = "csv.gz" if compression else form
    assert files == [
        f"odd=0/000000-0.{ending}",
        f"odd=0/000001-0.{ending}",
        f"odd=1/000001-1.{ending}",
    ]
    rows = spark.read.option("header", "true").format(form).load(str(tmp_path / "out"))
    assert sorted(int(row.id) for row in rows.collect()) == [4, 10, 11]


def _files(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._"]


def test_partitions_by_a_missing_column_are_rejected(spark, tmp_path):
    sql = SELECT.format(form="csv").replace(
        "'path' = 'out'", "'path' = 'out', 'partition.by' = 'x'"
    )
    with pytest.raises(PlanError) as caught:
        Trial(spark, tmp_path, sql).start()
    assert caught.value.code == "MS-PLAN-UNKNOWN-COLUMN"
    assert "partitioned by x" in caught.value.cause
