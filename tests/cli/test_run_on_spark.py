"""`millstream run` and `test`, in this process, on the Spark that all tests share."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from tests.cli.jobs import JOIN, SOURCES, command, project

EXAMPLE = Path(__file__).parents[2] / "examples/orders"


@pytest.fixture
def shared(spark):
    """The command uses the session that is there, and leaves it running."""
    yield spark
    assert spark.sparkContext._jsc is not None


def cells(text: str) -> list[list[str]]:
    """The rows of the tables in an output."""
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


@pytest.mark.slow
def test_the_demo_prints_the_joined_rows_and_an_ledger_that_is_balanced(shared, tmp_path):
    shutil.copytree(
        EXAMPLE, tmp_path / "orders", ignore=shutil.ignore_patterns("out", ".millstream")
    )
    job = tmp_path / "orders/job.sql"
    done = command("run", job, "--once", "--flush", "--fresh")
    assert done.exit_code == 0, done.output
    _, *expected = csv.reader((EXAMPLE / "expected.csv").read_text().splitlines())
    assert sorted(cells(done.stdout)) == sorted(expected)
    assert "\nbalanced\n" in done.stdout
    assert "bound     s.event_time - o.event_time in [0s, 1d]" in done.stderr
    assert "checkpoint  " in done.stderr

    again = command("run", job, "--once", "--flush")
    assert again.exit_code == 1
    assert again.stderr.startswith("MS-STATE-ENDED\n")


@pytest.mark.slow
def test_runs_resume_and_json_is_alone_on_stdout(shared, tmp_path):
    job = project(tmp_path)
    first = command("run", job, "--once", "--json")
    assert first.exit_code == 0, first.output
    [pipeline] = json.loads(first.stdout)["queries"]
    assert pipeline["engine"] == "columnar"
    assert pipeline["ledger"]["inputs"]["orders"]["in_state"] == 2
    assert pipeline["ledger"]["balanced"] is True
    assert pipeline["sinks"][0]["path"] == str(tmp_path / "out")

    second = command("run", job, "--once", "--flush", "--json")
    assert "resuming from batch 1" in second.stderr
    data = json.loads(second.stdout)
    assert data["error"] is None
    [pipeline] = data["queries"]
    assert pipeline["first_batch"] == 1
    assert (pipeline["ledger"]["matches"], pipeline["ledger"]["unmatched"]) == (1, 1)
    assert pipeline["ledger"]["inputs"]["orders"]["in"] == 2


def test_a_failed_run_tells_only_its_error_and_ends_with_1(shared, tmp_path, capfd):
    job = project(tmp_path, SOURCES.replace("'csv'", "'csv', 'malformed' = 'fail'") + JOIN)
    (tmp_path / "in/orders/2.csv").write_text("id,amount,at\nC,three,never\n")
    done = command("run", job, "--once", "--quiet")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == (
        "MS-RUN-MALFORMED\n"
        f"source orders: {tmp_path}/in/orders/2.csv, line 2: column amount: 'three' is not an "
        "INT.\n"
        "Fix: Correct the input, or set 'malformed' = 'dead_letter' to continue without such "
        "records.\n"
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_dead_letters_are_told_of(shared, tmp_path):
    job = project(tmp_path)
    (tmp_path / "in/orders/2.csv").write_text("id,amount,at\nC,three,never\n")
    done = command("run", job, "--once")
    assert done.exit_code == 0, done.output
    where = tmp_path / ".millstream/job/shipped/dead-letter/orders"
    assert f"1 malformed records of orders in {where}" in done.stdout


def test_a_source_that_is_not_there_is_told_by_its_place(shared, tmp_path):
    job = project(tmp_path)
    shutil.rmtree(tmp_path / "in/shipments")
    done = command("run", job, "--once", "-q")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"MS-PLAN-NO-PATH at {job}, line 5, column 1\n")


def test_a_sink_that_nobody_could_read_is_refused(shared, tmp_path):
    job = project(
        tmp_path, SOURCES + JOIN.replace("'file', 'path' = 'out', 'format' = 'csv'", "'memory'")
    )
    done = command("run", job, "--once", "-q")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"MS-PLAN-NO-SINK at {job}, line 8, ")


def test_of_its_own_join_spark_tells_a_little(shared, tmp_path):
    done = command("run", project(tmp_path), "--once", "--flush", "--engine", "native")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-6:] == [
        "shipped         orders      shipments",
        "in                   2              1",
        "  late               0  of all inputs",
        "out                  2",
        "balance unknown: Spark reports no other counts of its own operators",
        f"2 rows in {tmp_path / 'out'}",
    ]


@pytest.mark.slow
def test_a_new_project_runs_and_passes_its_test(shared, tmp_path):
    folder = tmp_path / "shop"
    command("init", folder)
    done = command("run", folder / "job.sql", "--once", "--flush")
    assert done.exit_code == 0, done.output
    assert (
        "\n  matches                     2\n  unmatched                   1\nbalanced\n"
        in done.stdout
    )
    tested = command("test", folder)
    assert tested.exit_code == 0, tested.output
    assert tested.stdout.splitlines()[-1] == ("1 case, 2 results on 2 engines: 2 passed, 0 failed")
