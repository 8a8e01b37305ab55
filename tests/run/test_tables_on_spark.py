"""Reference tables in a running job: versions, refreshes, and what a restart reads."""

from __future__ import annotations

import json
import os
import time
from collections import Counter

import pytest
from tests.run.trial import Trial

from millstream.errors import PlanError, RunError, StateError
from millstream.run.tables import request_refresh

SQL = """
CREATE SOURCE orders (id STRING, currency STRING)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE TABLE rates (currency STRING, rate INT)
  WITH ('connector' = 'file', 'path' = 'rates.csv', 'format' = 'csv'{more});
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id, r.rate FROM orders o LEFT JOIN rates r ON o.currency = r.currency;
"""


def rates(trial, *rows, later=0):
    """The table's file, changed as an editor would, `later` seconds from now by its time."""
    path = trial.folder / "rates.csv"
    hidden = path.with_name(".rates")
    hidden.write_text("currency,rate\n" + "".join(f"{row}\n" for row in rows))
    moment = time.time() + later
    os.utime(hidden, (moment, moment))
    hidden.rename(path)


def versions(trial):
    files = (trial.folder / "checkpoint/reference-tables/rates").glob("*.json")
    return [json.loads(path.read_text())["rows"] for path in sorted(files)]


@pytest.fixture
def trial(spark, tmp_path):
    made = Trial(spark, tmp_path, SQL.format(more=""))
    rates(made, "EUR,1")
    made.add("orders", "1.csv", ["id,currency", "A,EUR", "B,USD"])
    return made


@pytest.mark.slow
def test_a_batch_that_is_tried_again_reads_the_version_it_read_first(trial):
    trial.once()
    assert trial.rows() == Counter([("A", "1"), ("B", "")])
    for file in (trial.folder / "checkpoint/out/spark/commits").glob("*0*"):
        file.unlink()  # as after a crash between the sink's write and the commit
    rates(trial, "EUR,2", "USD,3", later=5)
    trial.add("orders", "2.csv", ["id,currency", "C,EUR"])
    ledger = trial.once()
    assert trial.rows() == Counter([("A", "1"), ("B", ""), ("C", "2")])
    assert versions(trial) == [1, 2]
    assert ledger.total_in == 3


@pytest.mark.slow
def test_a_table_that_has_not_changed_keeps_its_version(trial):
    trial.once()
    trial.once()
    assert versions(trial) == [1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "ask"), [(", 'refresh.on' = 'change'", False), (", 'refresh.on' = 'command'", True)]
)
def test_a_running_job_takes_up_a_new_version(trial, more, ask):
    trial.sql = SQL.format(more=more)
    run = trial.start()
    try:
        run.process_available()
        rates(trial, "EUR,2", "USD,3", later=5)
        if ask:
            request_refresh(trial.folder / "checkpoint", "rates")
        now = run.tables.pace()
        run.tables.pace = lambda: now + 2_000_000  # when files are looked at again
        run.tables.refresh_due()
        assert versions(trial) == [1, 2]
        last = run.tables.versions(next(iter(run.tables._tables.values()))).last
        while time.time_ns() // 1000 < last.since:  # the version waits until all can see it
            time.sleep(0.05)
        trial.add("orders", "2.csv", ["id,currency", "C,EUR", "D,USD"])
        run.process_available()
    finally:
        run.stop()
    assert trial.rows() == Counter([("A", "1"), ("B", ""), ("C", "2"), ("D", "3")])


@pytest.mark.slow
def test_a_table_that_cannot_be_refreshed_is_reported_and_used_unchanged(trial):
    trial.sql = SQL.format(more=", 'refresh.on' = 'change'")
    run = trial.start()
    try:
        run.process_available()
        rates(trial, "EUR,not a number", later=5)
        now = run.tables.pace()
        run.tables.pace = lambda: now + 2_000_000  # when files are looked at again
        run.tables.refresh_due()
        assert run.tables.problems["rates"].code == "MS-RUN-TABLE"
        assert run.tables.news["rates"] == (
            f"rates was not refreshed: table rates: {trial.folder}/rates.csv, line 2: column rate: "
            "'not a number' is not an INT."
        )
        assert versions(trial) == [1]
        rates(trial, "EUR,4", later=9)
        run.tables.pace = lambda: now + 4_000_000
        run.tables.refresh_due()
        assert run.tables.problems == {}
        assert run.tables.news["rates"] == "rates: version 2, 1 rows"
        assert versions(trial) == [1, 1]
    finally:
        run.stop()


def test_a_table_too_large_for_workers_is_rejected_with_the_alternative(trial):
    trial.sql = SQL.format(more=", 'broadcast.max_rows' = '1'")
    rates(trial, "EUR,1", "USD,2")
    with pytest.raises(RunError) as caught:
        trial.start()
    assert caught.value.code == "MS-RUN-TABLE-LARGE"
    assert "more than 1 rows" in caught.value.cause
    assert "'connector' = 'postgresql'" in caught.value.fix


def test_a_table_without_a_file_is_rejected_before_anything_runs(trial):
    (trial.folder / "rates.csv").unlink()
    with pytest.raises(PlanError) as caught:
        trial.start()
    assert caught.value.code == "MS-PLAN-NO-PATH"


@pytest.mark.slow
def test_a_second_row_of_a_primary_key_is_rejected_when_the_table_is_read(trial):
    trial.sql = SQL.format(more="").replace("rate INT)", "rate INT, PRIMARY KEY (currency))")
    rates(trial, "EUR,1", "EUR,2")
    with pytest.raises(RunError) as caught:
        trial.start()
    assert caught.value.code == "MS-RUN-TABLE-KEY"
    assert "several rows with the same primary key (currency)" in caught.value.cause
    assert caught.value.place is not None


@pytest.mark.slow
def test_a_table_s_header_without_a_declared_column_is_an_error_with_file_and_columns(trial):
    (trial.folder / "rates.csv").write_text("since,until\n3,4\n")
    with pytest.raises(RunError) as caught:
        trial.start()
    assert (caught.value.code, caught.value.cause) == (
        "MS-RUN-TABLE",
        f"table rates: {trial.folder}/rates.csv: the file cannot be read: its header has none of "
        "the declared columns. The header is since, until; the declared columns are currency, "
        "rate.",
    )


@pytest.mark.slow
def test_a_table_that_results_which_change_were_joined_with_may_not_change(trial):
    trial.sql = """
        CREATE SOURCE orders (id STRING, currency STRING)
          WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
        CREATE TABLE rates (currency STRING, rate INT, PRIMARY KEY (currency))
          WITH ('connector' = 'file', 'path' = 'rates.csv', 'format' = 'csv');
        CREATE STREAM counted AS SELECT currency, count(*) AS n FROM orders GROUP BY currency
          EMIT CHANGES WITH ('state.ttl' = 'forever');
        CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
        SELECT c.n, r.rate FROM counted c JOIN rates r ON c.currency = r.currency
        EMIT CHANGES WITH ('output.mode' = 'retract');
    """
    trial.once()
    assert trial.rows() == Counter([("1", "1", "+I")])
    trial.add("orders", "2.csv", ["id,currency", "C,EUR"])
    trial.once()
    assert trial.rows() == Counter([("1", "1", "+I"), ("1", "1", "-U"), ("2", "1", "+U")])
    rates(trial, "EUR,2", later=5)
    with pytest.raises(StateError) as caught:
        trial.start()
    assert caught.value.code == "MS-STATE-TABLE"
