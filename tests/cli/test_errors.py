"""A mistake is answered with a code, the place, the cause and the fix, and never with a trace."""

from __future__ import annotations

import json

import pytest
from tests.cli.jobs import JOIN, SOURCES, UNBOUNDED, command, project

from millstream.cli.errors import bug, text
from millstream.errors import Place, PlanError


def test_a_plan_error_shows_the_line_with_a_caret(tmp_path):
    job = project(tmp_path, SOURCES + UNBOUNDED)
    done = command("explain", job)
    assert done.exit_code == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0] == f"MS-PLAN-UNBOUNDED at {job}, line 10, column 1"
    assert lines[1] == "  10 | JOIN shipments s ON o.id = s.id;"
    assert lines[2] == "     | ^"
    assert "time bound" in lines[3]
    assert lines[4].startswith("Fix: ")
    assert len(lines) == 5


def test_run_refuses_before_spark_is_started(tmp_path):
    done = command("run", project(tmp_path, SOURCES + UNBOUNDED), "--once")
    assert done.exit_code == 2
    assert done.stderr.startswith("MS-PLAN-UNBOUNDED at ")
    assert not (tmp_path / ".millstream").exists()


def test_the_caret_stands_under_wide_letters_and_tabs():
    place = Place(7, 4, "\t値x = 1", "job.sql")
    shown = text(PlanError("MS-PLAN-X", "it is wrong.", place=place))
    assert shown == (
        "MS-PLAN-X at job.sql, line 7, column 4\n  7 |  値x = 1\n    |     ^\nit is wrong.\n"
    )


def test_an_error_is_data_with_json(tmp_path):
    job = project(tmp_path, SOURCES + UNBOUNDED)
    done = command("explain", job, "--json")
    assert done.exit_code == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "MS-PLAN-UNBOUNDED"
    assert error["place"] == {"file": str(job), "line": 10, "column": 1}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["explain", "no.sql"], "MS-CLI-FILE", "cannot read no.sql: No such file or directory."),
        (["explain", "JOB", "--set", "day"], "MS-CLI-SET", "--set day has no value"),
        (["explain", "JOB", "--set", "=1"], "MS-CLI-SET", "--set =1 has no name."),
        (["run", "JOB", "--flush"], "MS-CLI-TRIGGER", "Fix: Add --once."),
        (["run", "JOB", "--once", "--every", "1s"], "MS-CLI-TRIGGER", "cannot be combined"),
        (["run", "JOB", "--every", "soon"], "MS-PROP-TRIGGER", "'soon' is not a duration."),
        (["run", "JOB", "--every", "0s"], "MS-PROP-TRIGGER", "'0s' is not positive."),
        (["test", "no-folder"], "MS-TEST-FILE", "no-folder does not exist."),
    ],
)
def test_an_invalid_command_has_an_error_with_a_fix(tmp_path, arguments, code, words):
    job = project(tmp_path)
    done = command(*(job if argument == "JOB" else argument for argument in arguments))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{code}\n")
    assert words in done.stderr


def test_an_unknown_option_is_a_usage_error(tmp_path):
    assert command("explain", project(tmp_path), "--engin", "native").exit_code == 2


def test_variables_are_filled_and_a_missing_one_is_named(tmp_path, monkeypatch):
    text = SOURCES.replace("in/orders", "in/${folder}") + JOIN
    job = project(tmp_path, text)
    done = command("explain", job)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"MS-SQL-VARIABLE at {job}, line 3, column 44\n")
    assert "in/orders" in command("explain", job, "--set", "folder=orders").stdout
    monkeypatch.setenv("folder", "from-environment")
    assert "in/from-environment" in command("explain", job, "--set", "folder").stdout


def test_an_unexpected_error_asks_for_a_report(monkeypatch):
    monkeypatch.delenv("MILLSTREAM_TRACE", raising=False)
    shown = text(bug(KeyError("kafka")))
    assert shown.startswith("MS-RUN-BUG\ninternal error in Millstream: KeyError: 'kafka'\nFix: ")


TABLES = """\
CREATE TABLE rates (id STRING PRIMARY KEY, rate DOUBLE)
WITH ('connector' = 'file', 'path' = 'rates', 'format' = 'csv');
CREATE TABLE names (id STRING PRIMARY KEY, name STRING)
WITH ('connector' = 'sqlite', 'path' = 'names.db', 'table' = 'names');
CREATE SINK priced WITH ('connector' = 'console') AS
SELECT o.id, r.rate, n.name FROM orders o
LEFT JOIN rates r ON o.id = r.id LEFT JOIN names n ON o.id = n.id;
"""


@pytest.mark.parametrize(
    ("table", "cause"),
    [
        ("prices", "the job does not join a table prices.\nFix: It joins rates, names."),
        ("names", "names is looked up in its database row by row, so it cannot be refreshed."),
        ("rates", "rates is read only once, when the job starts."),
    ],
)
def test_refreshing_a_table_that_cannot_be_refreshed_is_an_error(tmp_path, table, cause):
    done = command("refresh", project(tmp_path, SOURCES + TABLES), table)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"MS-CLI-TABLE\n{cause}")


def test_prepare_needs_java(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = command("prepare")
    assert done.exit_code == 2
    assert done.stderr.startswith("MS-CLI-JAVA\nJava was not found, and Spark needs it.\n")


def test_classes_that_could_not_be_prepared_are_reported_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "python").write_text("#!/bin/sh\necho it is full >&2\nexit 1\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr(
        "millstream.engine.runtime.class_archive.archive", lambda: tmp_path / "new.jsa"
    )
    done = command("prepare")
    assert done.exit_code == 1
    assert done.stderr == (
        "MS-RUN-PREPARE\nthe class data archive was not created: it is full\n"
        "Fix: Jobs run without it; they start a few seconds later.\n"
    )


def test_an_unknown_connector_is_answered_with_the_nearest_one():
    done = command("connectors", "fille")
    assert done.exit_code == 2
    assert done.stderr == (
        "MS-CLI-CONNECTOR\nthere is no connector fille.\nFix: Did you mean file?\n"
    )
