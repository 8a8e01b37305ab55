"""A file that is deleted before it is read is a dead letter, or stops the job by name."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame
from tests.run.trial import Trial

from millstream.errors import RunError
from millstream.run.query_writer import QueryWriter

SELECT = """
CREATE SOURCE numbers (n INT) WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv',
  'max.files.per.batch' = '2', 'malformed' = '{malformed}');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT n FROM numbers;
"""
GROUPED = """
CREATE SOURCE numbers (n INT) WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT n, COUNT(*) AS c FROM numbers GROUP BY n EMIT CHANGES
WITH ('state.ttl' = 'forever', 'output.mode' = 'upsert');
"""
CHAINED = """
CREATE SOURCE numbers (n INT, at TIMESTAMP, WATERMARK FOR at AS at) WITH ('connector' = 'file',
  'path' = 'in/numbers', 'format' = 'csv');
CREATE SOURCE others (n INT, at TIMESTAMP, WATERMARK FOR at AS at) WITH ('connector' = 'file',
  'path' = 'in/others', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.n FROM (SELECT DISTINCT ON (n) n, at FROM others WITH ('state.ttl' = '1d')) o
JOIN (SELECT DISTINCT ON (n) n, at FROM numbers WITH ('state.ttl' = '1d')) m
  ON o.n = m.n AND m.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR;
"""
UNION = """
CREATE SOURCE numbers (n INT) WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv',
  'dead_letter.sink' = 'bad');
CREATE SOURCE others (n INT) WITH ('connector' = 'file', 'path' = 'in/others', 'format' = 'csv',
  'dead_letter.sink' = 'bad');
CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad', 'format' = 'json');
CREATE SINK out WITH ('connector' = 'noop') AS
SELECT n FROM numbers UNION ALL SELECT n FROM others;
"""


def delete_once_planned(
    monkeypatch: pytest.MonkeyPatch,
    trial: Trial,
    name: str,
    sources: tuple[str, ...] = ("numbers",),
) -> None:
    """Deletes files of a name when their batch has been planned, before it runs."""
    write = QueryWriter.write

    def deleting(self: QueryWriter, frame: DataFrame, batch: int) -> None:
        for source in sources:
            (trial.folder / "in" / source / name).unlink(missing_ok=True)
        write(self, frame, batch)

    monkeypatch.setattr(QueryWriter, "write", deleting)


def letters(trial: Trial) -> list[dict[str, Any]]:
    return trial.read("checkpoint/out/dead-letter/numbers")


@pytest.mark.parametrize("sql", [SELECT.format(malformed="dead_letter"), GROUPED])
def test_a_file_that_is_deleted_before_it_is_read_is_a_dead_letter(
    spark, tmp_path, monkeypatch, sql
):
    trial = Trial(spark, tmp_path, sql)
    trial.add("numbers", "a b%20.csv", ["n", "1"])
    trial.add("numbers", "kept.csv", ["n", "2"])
    (tmp_path / "in/numbers/empty.csv").touch()
    delete_once_planned(monkeypatch, trial, "a b%20.csv")
    trial.once()
    assert {row["n"] for row in trial.read("out")} == {"2"}
    [letter] = letters(trial)
    assert letter["_source"] == "numbers"
    assert letter["_reason"] == "unreadable_file"
    assert letter["_message"] == "the file was deleted before it was read."
    assert letter["_file"] == str(tmp_path / "in/numbers/a b%20.csv")
    assert letter["_time"] is not None
    trial.add("numbers", "later.csv", ["n", "3"])
    trial.once()
    assert {row["n"] for row in trial.read("out")} == {"2", "3"}
    assert len(letters(trial)) == 1


def test_with_fail_the_error_names_the_file_and_the_job_resumes_when_it_is_back(
    spark, tmp_path, monkeypatch
):
    trial = Trial(spark, tmp_path, SELECT.format(malformed="fail"))
    trial.add("numbers", "gone.csv", ["n", "1"])
    with monkeypatch.context() as patched:
        delete_once_planned(patched, trial, "gone.csv")
        with pytest.raises(RunError) as caught:
            trial.once()
    path = tmp_path / "in/numbers/gone.csv"
    assert str(caught.value) == (
        f"MS-RUN-MALFORMED: source numbers: {path}: the file was deleted before it was read. "
        "Correct the input, or set 'malformed' = 'dead_letter' to continue without such records."
    )
    trial.add("numbers", "gone.csv", ["n", "1"])
    trial.once()
    assert trial.rows() == Counter([("1",)])


def test_a_deleted_file_is_found_where_several_operators_read_the_control_stream(
    spark, tmp_path, monkeypatch
):
    trial = Trial(spark, tmp_path, CHAINED)
    for name in ("a.csv", "b.csv"):
        number = "1" if name == "a.csv" else "2"
        for source in ("numbers", "others"):
            trial.add(source, name, ["n,at", f"{number},2026-01-01T00:00:00Z"])
    delete_once_planned(monkeypatch, trial, "a.csv")
    trial.flushed()
    assert trial.rows() == Counter([("2",)])
    [letter] = letters(trial)
    assert letter["_file"] == str(tmp_path / "in/numbers/a.csv")


def test_deleted_files_of_two_sources_are_in_one_dead_letter_sink(spark, tmp_path, monkeypatch):
    trial = Trial(spark, tmp_path, UNION)
    for source in ("numbers", "others"):
        trial.add(source, "gone.csv", ["n", "1"])
    trial.add("numbers", "malformed.csv", ["n", "x"])  # in the same sink
    delete_once_planned(monkeypatch, trial, "gone.csv", sources=("numbers", "others"))
    found = trial.once()
    gone = [row["_file"] for row in trial.read("bad") if row["_reason"] == "unreadable_file"]
    assert sorted(gone) == [
        str(tmp_path / "in" / source / "gone.csv") for source in ("numbers", "others")
    ]
    assert found.written == {"dead letters of numbers": 2, "dead letters of others": 1}
