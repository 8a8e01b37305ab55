"""The ledger equals what files contain, with several operators and after crashes."""

from __future__ import annotations

import sqlite3

import pytest
from tests.run.trial import Trial, at, ledger

SOURCES = """
CREATE SOURCE orders (id STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv', 'max.files.per.batch' = '1');
CREATE SOURCE shipments (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'csv',
        'max.files.per.batch' = '1');
"""
DISTINCT = f"""{SOURCES}
CREATE STREAM o AS SELECT DISTINCT ON (id) id, at FROM orders WITH ('state.ttl' = '1h');
CREATE STREAM s AS SELECT DISTINCT ON (id) id, at FROM shipments
  WITH ('state.ttl' = '1h', 'late.policy' = 'side_output');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id FROM o JOIN s ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES;
"""
SEMI = f"""{SOURCES}
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id FROM orders o LEFT SEMI JOIN shipments s ON o.id = s.id AND o.amount > 1
  AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES;
"""


def counts(made, *outcomes):
    return {each.name: tuple(each[outcome] for outcome in outcomes) for each in made.inputs}


@pytest.mark.slow
def test_an_operator_without_new_rows_keeps_its_counts(spark, tmp_path):
    trial = Trial(spark, tmp_path, DISTINCT)
    orders = [f"A,1,{at(0)}", f"A,2,{at(1)}", f"B,1,{at(2)}"]
    trial.add("orders", "1.csv", ["id,amount,at", *orders])
    trial.add("shipments", "1.csv", ["id,at", f"A,{at(3)}", f"C,{at(9)}"])
    first = trial.once()
    outcomes = ("in", "accepted", "late", "duplicate")
    inputs = {"orders": (3, 2, 0, 1), "shipments": (2, 2, 0, 0), "o": (2, 2, 0, 0)}
    assert counts(first, *outcomes) == {**inputs, "s": (2, 2, 0, 0)}
    trial.add("shipments", "2.csv", ["id,at", f"C,{at(1)}", f"D,{at(20)}", f"D,{at(21)}"])
    second = trial.once()
    inputs |= {"shipments": (5, 3, 1, 1), "s": (3, 3, 0, 0)}
    assert counts(second, *outcomes) == inputs
    assert second.balanced is True
    assert len(trial.read("checkpoint/out/late")) == 1

    trial.forget_last_commit()
    trial.add("orders", "2.csv", ["id,amount,at", f"E,1,{at(25)}"])
    third = trial.once()
    assert counts(third, *outcomes) == {**inputs, "orders": (4, 3, 0, 1), "o": (3, 3, 0, 0)}
    assert len(trial.read("checkpoint/out/late")) == 1


@pytest.mark.slow
def test_rows_that_fail_the_predicate_of_a_semi_join_are_not_counted_as_missing_a_key(
    spark, tmp_path
):
    trial = Trial(spark, tmp_path, SEMI)
    orders = [f"A,1,{at(0)}", f"B,2,{at(0)}", f",2,{at(1)}", f",1,{at(1)}", f"C,,{at(2)}"]
    trial.add("orders", "1.csv", ["id,amount,at", *orders])
    trial.add("shipments", "1.csv", ["id,at", f"A,{at(3)}", f"B,{at(3)}"])
    made = trial.flushed()
    outcomes = ("in", "accepted", "failed_predicate", "missing_key")
    assert counts(made, *outcomes) == {"orders": (5, 1, 3, 1), "shipments": (2, 2, 0, 0)}
    assert sum(trial.rows().values()) == made.rows_out == 1


LOOKUP = """
CREATE SOURCE orders (id STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE TABLE names (id STRING, name STRING, PRIMARY KEY (id)) WITH ('connector' = 'sqlite',
  'path' = 'names.db', 'lookup.on_error' = 'side_output', 'lookup.retries' = '0',
  'lookup.timeout' = '50ms', 'lookup.cache.rows' = '0');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
"""
STATELESS = "SELECT o.id, n.name FROM orders o JOIN names n ON o.id = n.id;"
GROUPED = """SELECT n.name, COUNT(*) AS n FROM orders o JOIN names n ON o.id = n.id
  WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY n.name;"""


@pytest.mark.slow
@pytest.mark.parametrize("query", [STATELESS, GROUPED])
def test_rows_whose_lookup_failed_are_not_counted_as_filtered(spark, tmp_path, query):
    with sqlite3.connect(tmp_path / "names.db", isolation_level=None) as names:
        names.execute("CREATE TABLE names (id TEXT PRIMARY KEY, name TEXT)")
        names.execute("INSERT INTO names VALUES ('A', 'Ada')")
    trial = Trial(spark, tmp_path, LOOKUP + query)
    trial.add("orders", "1.csv", ["id,amount,at", f"A,1,{at(0)}", f"B,1,{at(0)}", f"A,1,{at(1)}"])
    run = trial.start()
    try:
        run.process_available()
        names.execute("BEGIN EXCLUSIVE")
        trial.add("orders", "2.csv", ["id,amount,at", f"A,2,{at(2)}", f"A,3,{at(2)}"])
        run.process_available()
        names.execute("ROLLBACK")
    finally:
        run.stop()
        names.close()
    made = ledger(run)
    outcomes = ("in", "accepted", "filtered", "lookup_failed")
    assert counts(made, *outcomes) == {"orders": (5, 2, 1, 2)}
    assert made.balanced is True
    assert len(trial.read("checkpoint/out/dead-letter/names")) == 2


def test_batches_that_spark_reports_only_after_the_commit_are_counted_once(spark, tmp_path):
    noop = SOURCES + "CREATE SINK out WITH ('connector' = 'noop') AS SELECT id FROM orders;"
    trial = Trial(spark, tmp_path, noop.replace("'csv'", "'csv', 'malformed' = 'fail'"))
    for number in range(5):
        trial.add("orders", f"{number}.csv", ["id,amount,at", f"A,1,{at(number)}"])
    run = trial.start()
    try:
        [running] = run.running
        assert running.writer.is_direct
        running.streaming_query.processAllAvailable()  # several batches before anyone asks
        running.update_ledger()
        trial.add("orders", "5.csv", ["id,amount,at", f"A,1,{at(5)}", f"B,1,{at(5)}"])
        trial.add("orders", "6.csv", ["id,amount,at", f"A,1,{at(6)}"])
        running.streaming_query.processAllAvailable()
    finally:
        run.stop()
    found = ledger(run)
    assert (found.total_in, found.rows_out, found.balanced) == (8, 8, True)
    file = trial.folder / "checkpoint/out/ledger.json"
    file.unlink()
    trial.add("orders", "7.csv", ["id,amount,at", f"A,1,{at(7)}"])
    again = trial.start(once=True)
    try:
        while not again.wait(30):
            pass
    finally:
        again.stop()
    [lost] = again.running[0].ledger_store.ledger.errors
    assert lost == "the counts of batches 0 to 6 were lost in a crash; no row of the sink was"
