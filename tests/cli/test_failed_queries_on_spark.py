"""A query of a job fails: the others stop or continue as the job says, and the report says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.jobs import SOURCES, command, project

BAD = """\
CREATE SINK ratios WITH ('connector' = 'file', 'path' = 'ratios', 'format' = 'csv') AS
SELECT id,
  10 / (amount - 2) AS ratio FROM orders;
"""
GOOD = """\
CREATE SINK ids WITH ('connector' = 'file', 'path' = 'ids', 'format' = 'csv') AS
SELECT id FROM orders;
"""
ERROR = """\
MS-RUN-VALUE at {job}, line 10, column 3
  10 |   10 / (amount - 2) AS ratio FROM orders;
     |   ^
10 / (amount - 2) failed for a row: [DIVIDE_BY_ZERO] Division by zero.
Fix: Use `try_divide` to tolerate divisor being 0 and return NULL instead.
"""


@pytest.fixture
def shared(spark):
    """The command uses the session that is there, and leaves it running."""
    yield spark
    assert spark.sparkContext._jsc is not None


def ids(folder: Path) -> list[str]:
    files = (folder / "ids").glob("*.csv")
    return sorted(line for file in files for line in file.read_text().splitlines()[1:])


def test_by_default_a_failed_query_stops_the_others_and_the_report_says_so(shared, tmp_path):
    job = project(tmp_path, SOURCES + BAD + GOOD)
    done = command("run", job, "--once", "--flush")
    assert done.exit_code == 1, done.output
    assert ERROR.format(job=job) in done.stderr
    *_, failed, stopped = done.stderr.splitlines()
    assert failed == "ratios: failed; 0 rows written so far. The next run continues it."
    assert re.fullmatch(
        "ids: stopped because ratios failed; [02] rows written so far. The next run continues it.",
        stopped,
    )
    assert ids(tmp_path) in ([], ["A", "B"])


def test_a_job_can_continue_with_the_other_queries(shared, tmp_path):
    job = project(tmp_path, f"{SOURCES}{BAD}{GOOD}SET 'on.failure' = 'continue';\n")
    done = command("run", job, "--once", "--flush", "--json")
    assert done.exit_code == 1, done.output
    assert ERROR.format(job=job) in done.stderr
    assert "ratios failed (MS-RUN-VALUE); the other queries continue." in done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "ratios: failed; 0 rows written so far. The next run continues it.",
        "ids: completed; 2 rows written so far.",
    ]
    assert ids(tmp_path) == ["A", "B"]
    message = json.loads(done.stdout)
    assert [(each["name"], each["status"]) for each in message["queries"]] == [
        ("ratios", "failed"),
        ("ids", "completed"),
    ]
    assert message["error"]["code"] == message["queries"][0]["error"]["code"] == "MS-RUN-VALUE"
    assert message["queries"][1]["error"] is None


@pytest.mark.slow
def test_the_next_run_with_flush_completes_a_failed_query_without_those_that_have_ended(
    shared, tmp_path
):
    distinct = (
        "CREATE SINK {sink} WITH ('connector' = 'file', 'path' = '{sink}', 'format' = 'csv') AS\n"
        "SELECT DISTINCT ON (id) id, at FROM orders\n"
        "WITH ('state.ttl' = '1h', 'state.max_rows' = '{limit}');\n"
    )
    text = f"{SOURCES}{distinct}{distinct.replace('{sink}', 'ids')}SET 'on.failure' = 'continue';\n"
    job = project(tmp_path, text.format(sink="few", limit=1).replace("'1');\nSET", "'2');\nSET"))
    done = command("run", job, "--once", "--flush")
    assert done.stderr.splitlines()[-2:] == [
        "few: failed; 0 rows written so far. The next run continues it.",
        "ids: completed; 2 rows written so far.",
    ]
    job.write_text(text.format(sink="few", limit=2))
    done = command("run", job, "--once", "--flush", "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines()[0] == (
        "Skipped, because an earlier run ended their input: ids."
    )
    [pipeline] = json.loads(done.stdout)["queries"]
    assert (pipeline["name"], pipeline["sinks"][0]["rows"]) == ("few", 2)
    done = command("run", job, "--once", "--flush")
    assert done.stderr.startswith("MS-STATE-ENDED\n")


def test_a_bad_setting_is_rejected_at_planning(tmp_path):
    job = project(tmp_path, f"{SOURCES}{GOOD}SET 'on.failure' = 'ignore';\n")
    done = command("explain", job)
    assert done.exit_code == 2
    assert "'on.failure' cannot be 'ignore'." in done.stderr
    job.write_text(f"{SOURCES}{GOOD}SET 'on.failure' = 'continue';\n")
    explained = command("explain", job)
    assert re.search(r"on\.failure +continue", explained.stdout)


def test_a_master_that_cannot_be_reached_ends_the_run_before_spark_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("millstream.cli.run_job.active_session", lambda: None)
    monkeypatch.setattr("millstream.engine.runtime.session.active_session", lambda: None)
    job = project(tmp_path, f"{SOURCES}{GOOD}SET 'spark.master' = 'spark://127.0.0.1:1';\n")
    done = command("run", job, "--once", "--quiet")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[:2] == [
        "MS-RUN-MASTER",
        "the Spark master spark://127.0.0.1:1 cannot be reached (127.0.0.1:1: Connection refused).",
    ]


@pytest.mark.slow
def test_files_without_a_preview_are_not_reported_as_missing(shared, tmp_path):
    sink = "CREATE SINK ids WITH ('connector' = 'file', 'path' = 'ids', 'format' = 'avro') AS\n"
    done = command("run", project(tmp_path, f"{SOURCES}{sink}SELECT id FROM orders;\n"), "--once")
    assert done.exit_code == 0, done.output
    assert "2 rows in " in done.stdout
    assert "wrote no rows" not in done.stdout
