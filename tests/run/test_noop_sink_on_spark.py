"""A sink that discards rows: Spark writes to it itself if no row may go to a dead-letter queue, and
the ledger is built from its progress reports."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.run.trial import Trial

from millstream.errors import RunError
from millstream.run.progress import progress_of

SOURCES = """
CREATE SOURCE orders (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'parquet');
CREATE SOURCE shipments (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'parquet');
"""
SOME = "CREATE SINK out WITH ('connector' = 'noop') AS SELECT id FROM orders WHERE id % 2 = 0;"
JOIN = """
CREATE SINK out WITH ('connector' = 'noop') AS
SELECT o.id FROM orders o JOIN shipments s ON o.id = s.id
  AND s.at BETWEEN o.at AND o.at + INTERVAL 1 MINUTE EMIT CHANGES;
"""


def add(trial: Trial, source: str, name: str, ids: range) -> None:
    folder = trial.folder / "in" / source
    folder.mkdir(parents=True, exist_ok=True)
    times = pa.array([1_768_471_200 + number for number in ids], pa.timestamp("s", "UTC"))
    table = pa.table({"id": pa.array(ids, pa.int64()), "at": times.cast(pa.timestamp("us", "UTC"))})
    pq.write_table(table, folder / f".{name}")
    (folder / f".{name}").rename(folder / name)


def test_rows_that_go_nowhere_are_counted_over_restarts(spark, tmp_path):
    text = SOURCES.replace("parquet'", "parquet', 'malformed' = 'fail'")
    trial = Trial(spark, tmp_path, text + SOME)
    add(trial, "orders", "1.parquet", range(10))
    run = trial.start()
    try:
        assert run.running[0].writer.is_direct
        run.process_available()
        add(trial, "orders", "2.parquet", range(10, 15))
        run.process_available()
    finally:
        run.stop()
    assert run.running[0].ledger_store.ledger.rows_out == 8
    add(trial, "orders", "3.parquet", range(15, 18))
    ledger = trial.once()
    [orders] = ledger.inputs
    assert (orders["in"], orders["filtered"], ledger.rows_out) == (18, 9, 9)
    assert ledger.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["columnar", "native"])
def test_a_join_into_the_noop_sink_reports_its_state(spark, tmp_path, engine):
    trial = Trial(spark, tmp_path, f"SET 'engine' = '{engine}';\n{SOURCES}{JOIN}")
    add(trial, "orders", "1.parquet", range(10))
    add(trial, "shipments", "1.parquet", range(5, 10))
    run = trial.start()
    try:
        run.process_available()
        add(trial, "shipments", "2.parquet", range(3))
        run.process_available()
        shown = progress_of(run.running[0])
        assert shown.rows_in == 18
        if engine == "columnar":  # Spark's own join ends with a micro-batch without rows
            assert round(shown.rate * shown.seconds) == 3
    finally:
        run.stop()
    ledger = run.running[0].ledger_store.ledger
    assert ledger.total_in == 18
    assert ledger.rows_out == 5  # those that came last are late
    assert ledger.errors == []


def test_records_that_are_malformed_are_still_set_aside(spark, tmp_path):
    trial = Trial(spark, tmp_path, (SOURCES + SOME).replace("parquet", "csv"))
    trial.add("orders", "1.csv", ["id,at", "1,2026-01-15T10:00:00Z", "x,2026-01-15T10:00:00Z"])
    ledger = trial.once()
    assert ledger.inputs[0]["malformed"] == 1
    assert len(trial.read("checkpoint/out/dead-letter/orders")) == 1


COUNTS = """
CREATE SINK out WITH ('connector' = 'noop') AS
SELECT id, COUNT(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY id;
"""


@pytest.mark.parametrize("query", [SOME, COUNTS])
def test_records_that_may_not_be_malformed_leave_nothing_to_set_aside(spark, tmp_path, query):
    text = SOURCES.replace("parquet'", "csv', 'malformed' = 'fail'")
    trial = Trial(spark, tmp_path, text + query)
    trial.add("orders", "1.csv", ["id,at", "1,2026-01-15T10:00:00Z", "2,2026-01-15T10:00:00Z"])
    run = trial.start()
    try:
        assert run.running[0].writer.is_direct
        run.process_available()
        trial.add("orders", "2.csv", ["id,at", "x,2026-01-15T10:00:00Z"])
        with pytest.raises(RunError) as raised:
            run.process_available()
    finally:
        run.stop()
    assert raised.value.code == "MS-RUN-MALFORMED"
    ledger = run.running[0].ledger_store.ledger
    assert (ledger.total_in, ledger.errors) == (2, [])
