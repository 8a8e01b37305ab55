"""Rows whose event time is far ahead of processing time do not move the watermark."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.run.trial import Trial, at, ledger

SQL = """
CREATE SOURCE clicks (k STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/clicks', 'format' = 'FORMAT',
        'max.files.per.batch' = '1' LIMIT);
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT k, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 1 MINUTES) GROUP BY k;
"""


def sql(form: str, limit: str = "") -> str:
    return SQL.replace("FORMAT", form).replace("LIMIT", limit)


def add(trial: Trial, name: str, form: str, rows: list[tuple[str, str]]) -> None:
    if form == "json":
        lines = [json.dumps({"k": k, "at": time}) for k, time in rows]
        trial.add("clicks", f"{name}.json", lines)
        return
    folder = trial.folder / "in/clicks"
    folder.mkdir(parents=True, exist_ok=True)
    times = [datetime.fromisoformat(time) for _, time in rows]
    table = pa.table({"k": [k for k, _ in rows], "at": pa.array(times, pa.timestamp("us", "UTC"))})
    pq.write_table(table, folder / f".{name}")
    (folder / f".{name}").rename(folder / f"{name}.parquet")


# Spark reads JSON for the packer; the packer reads Parquet files by itself.
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_row_from_the_year_2100_makes_no_later_row_late(spark, tmp_path, form):
    trial = Trial(spark, tmp_path, sql(form))
    add(trial, "1", form, [("a", at(0)), ("a", "2100-01-01T00:00:00Z")])
    add(trial, "2", form, [("b", at(1)), ("c", "2101-01-01T00:00:00Z")])
    run = trial.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    [clicks] = ledger(run).inputs
    assert (clicks["in"], clicks["ahead_of_time"], clicks["late"]) == (4, 2, 0)
    assert trial.rows() == Counter([("a", "1"), ("b", "1")])
    letters = trial.read("checkpoint/out/dead-letter/clicks")
    assert [(each["_reason"], each["_column"], json.loads(each["_raw"])) for each in letters] == [
        ("ahead_of_time", "at", {"k": "a", "at": "2100-01-01T00:00:00Z"}),
        ("ahead_of_time", "at", {"k": "c", "at": "2101-01-01T00:00:00Z"}),
    ]
    assert letters[0]["_message"].startswith("at = 2100-01-01T00:00:00Z is more than 1d ahead of ")
    [warning] = run.warnings
    assert warning.startswith(
        "source clicks has rows ahead of time, which go to the dead-letter queue "
    )


@pytest.mark.slow
def test_the_limit_can_be_changed_and_turned_off(spark, tmp_path):
    soon = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    for number, (limit, expected) in enumerate(
        [(", 'watermark.max_ahead' = '7d'", 0), ("", 1), (", 'watermark.max_ahead' = 'off'", 0)]
    ):
        trial = Trial(spark, tmp_path / str(number), sql("json", limit))
        add(trial, "1", "json", [("a", at(0)), ("a", soon)])
        [clicks] = trial.flushed().inputs
        assert clicks["ahead_of_time"] == expected
