"""File sources of jobs: parts of files, formats, added columns, patterns, two readers."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.run.trial import Trial, at

from millstream.connectors.file.compaction import Compaction
from millstream.errors import StateError

NUMBERS = """
CREATE SOURCE numbers (n INT, at TIMESTAMP, dt DATE, added STRING, WATERMARK FOR at AS at) WITH (
  'connector' = 'file', 'path' = 'in/numbers', 'format' = '{form}'{more});
"""
SELECT = (
    NUMBERS
    + """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = '{to}') AS
SELECT n, dt, added FROM numbers;
"""
)
AGAIN = """
CREATE SOURCE numbers (n INT, dt DATE, added STRING, later INT) WITH ('connector' = 'file',
  'path' = 'out/dt=*', 'format' = 'avro');
CREATE SINK again WITH ('connector' = 'file', 'path' = 'again', 'format' = 'json') AS
SELECT n, dt, later FROM numbers;
"""
SELF_JOIN = (
    NUMBERS
    + """
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT l.n, r.n AS other FROM numbers l JOIN numbers r ON l.n = r.n AND r.at BETWEEN l.at AND l.at
WITH ('engine' = '{engine}');
"""
)


def add(trial: Trial, name: str, numbers: range) -> None:
    rows = [json.dumps({"n": number, "at": at(number % 60)}) for number in numbers]
    trial.add("numbers", name, rows)


def batches_of(trial: Trial) -> list[int]:
    """Returns the number of rows of each micro-batch."""
    found: Counter[str] = Counter()
    for path in (trial.folder / "out").glob("*.json"):
        found[path.name[:6]] += len(path.read_text().splitlines())
    return [found[name] for name in sorted(found)]


def test_a_large_file_is_divided_and_a_killed_batch_is_repeated(spark, tmp_path):
    sql = SELECT.format(form="json", to="json", more=", 'max.rows.per.batch' = '40'")
    trial = Trial(spark, tmp_path, sql)
    add(trial, "1.json", range(100))
    trial.once()
    assert batches_of(trial) == [40, 40, 20]
    trial.forget_last_commit()
    add(trial, "2.json", range(100, 130))
    ledger = trial.once()
    assert batches_of(trial) == [40, 40, 20, 30]
    assert sorted(int(row[0]) for row in trial.rows()) == list(range(130))
    assert ledger.inputs[0]["in"] == 130
    log = sqlite3.connect(tmp_path / "checkpoint/out/sources/numbers.sqlite")
    assert log.execute("SELECT count(*) FROM seen").fetchone() == (2,)
    log.close()
    [merge] = Compaction(tmp_path / "out", 1 << 20, header=False).run()
    assert merge.names[0] == "000000-0.json"
    trial.forget_last_commit()
    trial.once()
    assert sorted(int(row[0]) for row in trial.rows()) == list(range(130))
    assert not list((tmp_path / "checkpoint/out/spark/sources").glob("0/[1-9]*"))


def test_avro_is_written_and_read_with_folders_patterns_and_added_columns(spark, tmp_path):
    sql = SELECT.format(form="json", to="avro', 'partition.by' = 'dt", more="")
    trial = Trial(spark, tmp_path, sql)
    lines = [
        json.dumps({"n": number, "at": at(number), "dt": f"2026-01-0{number}"}) for number in (1, 2)
    ]
    trial.add("numbers", "1.json", lines)
    trial.once()
    written = sorted(path.relative_to(tmp_path) for path in (tmp_path / "out").rglob("*.avro"))
    assert [path.parent.name for path in written] == ["dt=2026-01-01", "dt=2026-01-02"]
    (tmp_path / "out/note.txt").write_text("no Avro")
    again = Trial(spark, tmp_path, AGAIN)
    again.once()
    expected = [("1", "2026-01-01", "None"), ("2", "2026-01-02", "None")]
    assert again.rows("again") == Counter(expected)


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "orc"])
def test_a_column_that_earlier_files_lack_is_null(spark, tmp_path, form):
    trial = Trial(spark, tmp_path, SELECT.format(form=form, to="json", more=""))
    for number, more in ((1, {}), (2, {"added": "x"})):
        table = pa.Table.from_pylist([{"n": number, **more}], _schema(more))
        _write(tmp_path / "in/numbers", f"{number}.{form}", form, table)
    trial.once()
    assert trial.rows() == Counter([("1", "None", "None"), ("2", "None", "x")])


def _schema(more: dict[str, str]) -> pa.Schema:
    return pa.schema([("n", pa.int32()), *((name, pa.string()) for name in more)])


def _write(folder: Path, name: str, form: str, table: pa.Table) -> None:
    from pyarrow import csv, orc

    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{name}"
    writers: dict[str, Any] = {
        "csv": csv.write_csv,
        "parquet": pq.write_table,
        "orc": orc.write_table,
        "json": lambda rows, path: Path(path).write_text(
            "".join(f"{json.dumps(row)}\n" for row in rows.to_pylist())
        ),
    }
    writers[form](table, str(hidden))
    hidden.rename(folder / name)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["columnar", "native"])
def test_both_sides_of_a_self_join_read_the_same_files(spark, tmp_path, engine):
    more = ", 'max.files.per.batch' = '1', 'malformed' = 'fail'"
    trial = Trial(spark, tmp_path, SELF_JOIN.format(form="json", more=more, engine=engine))
    for number in range(3):
        add(trial, f"{number}.json", range(number * 10, number * 10 + 10))
    run = trial.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    assert trial.rows() == Counter((str(number), str(number)) for number in range(30))
    log = sqlite3.connect(tmp_path / "checkpoint/out/sources/numbers.sqlite")
    assert log.execute("SELECT count(*) FROM admitted").fetchone() == (3,)
    log.close()
    for path in (tmp_path / "checkpoint/out/spark/offsets").glob("[0-9]*"):
        offsets = {line for line in path.read_text().splitlines()[2:] if '"batch"' in line}
        assert len(offsets) == 1, path.read_text()


def test_a_checkpoint_in_which_spark_listed_the_files_is_rejected(spark, tmp_path):
    trial = Trial(spark, tmp_path, SELECT.format(form="json", to="json", more=""))
    add(trial, "1.json", range(3))
    trial.once()
    for path in (tmp_path / "checkpoint/out/spark/offsets").glob("*"):
        if path.name.startswith("."):
            path.unlink()
        else:
            path.write_text(path.read_text().replace('{"batch": 1}', '{"logOffset":0}'))
    add(trial, "2.json", range(3))
    with pytest.raises(StateError) as caught:
        trial.once()
    assert caught.value.code == "MS-STATE-FORMAT"
    assert "in the format of an earlier version" in caught.value.cause
