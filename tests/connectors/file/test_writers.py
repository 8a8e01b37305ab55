"""Executors write the rows of a task to files of every format and folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from millstream.connectors.file import writers
from millstream.connectors.file.sink import FileSink
from millstream.connectors.file.writers import FOLDER, LINE, FileFormat, FileOpener
from millstream.connectors.sink import BatchId, TaskId

ID = BatchId("checkpoint", "query", "main", 7)
ROWS = pa.record_batch({"n": [1, 2, 3], "day": ["a/b", None, "a/b"]})


def written(folder: Path, form: FileFormat, *rows: pa.RecordBatch, task: int = 3) -> list[str]:
    writer = FileOpener(str(folder), form).open(TaskId(ID, task, 11))
    for batch in rows:
        writer.write(batch)
    message = writer.close()
    assert message["rows"] == sum(batch.num_rows for batch in rows)
    files: list[str] = message["files"]
    return files


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_binary_formats_hold_the_rows_of_all_batches(tmp_path, name):
    [file] = written(tmp_path, FileFormat(name), ROWS, ROWS)
    assert file == f"part-00003-11-00000.{name}"
    path = tmp_path / file
    table = pq.read_table(path) if name == "parquet" else orc.read_table(path)
    assert table.to_pylist() == ROWS.to_pylist() * 2


def test_lines_that_spark_formatted_are_written_as_they_are(tmp_path):
    lines = pa.record_batch({LINE: ["1;a", "2;b"]})
    [file] = written(tmp_path, FileFormat("csv", compression="gzip", header="n;x"), lines, lines)
    assert file.endswith(".csv.gz")
    assert gzip.decompress((tmp_path / file).read_bytes()) == b"n;x\n1;a\n2;b\n1;a\n2;b\n"


def test_folders_have_the_escaped_values_of_partition_columns(tmp_path):
    files = written(tmp_path, FileFormat("json", partition_by=("Day",)), ROWS)
    found = {path.parent.name: path.read_text() for path in (tmp_path / name for name in files)}
    assert found == {
        "Day=a%2Fb": '{"n":1}\n{"n":3}\n',
        "Day=__HIVE_DEFAULT_PARTITION__": '{"n":2}\n',
    }


def test_two_partition_columns_that_spark_formatted_are_two_folders(tmp_path):
    rows = pa.record_batch(
        {LINE: ["x", "y", "z"], f"{FOLDER}0": ["a", "b", "a"], f"{FOLDER}1": ["1", "1", "1"]}
    )
    form = FileFormat("json", partition_by=("p", "q"))
    files = written(tmp_path, form, rows)
    assert {name.rpartition("/")[0] for name in files} == {"p=a/q=1", "p=b/q=1"}
    assert {(tmp_path / name).read_text() for name in files} == {"x\nz\n", "y\n"}


def test_a_folder_whose_file_was_closed_for_others_gets_another_file(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "_MAX_OPEN", 2)
    rows = pa.record_batch({"n": list(range(12)), "p": [str(n % 4) for n in range(12)]})
    files = written(tmp_path, FileFormat("json", partition_by=("p",)), rows, rows)
    assert len(files) == len(set(files)) == 8
    lines = [line for name in files for line in (tmp_path / name).read_text().splitlines()]
    assert sorted(json.loads(line)["n"] for line in lines) == sorted([*range(12)] * 2)


def test_an_aborted_task_leaves_no_file(tmp_path):
    writer = FileOpener(str(tmp_path), FileFormat("parquet")).open(TaskId(ID, 0))
    writer.write(ROWS)
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_a_batch_that_is_committed_again_replaces_its_files(tmp_path):
    for values in ([1, 2], [3]):
        sink = FileSink(str(tmp_path), "json")
        opener = sink.begin(ID)
        messages = []
        for task, value in enumerate(values):
            writer = opener.open(TaskId(ID, task))
            writer.write(pa.record_batch({"n": [value]}))
            messages.append(writer.close())
        sink.commit(ID, messages)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "000007-0.json": '{"n":3}\n'
    }


def test_files_of_attempts_whose_message_did_not_arrive_do_not_become_visible(tmp_path):
    sink = FileSink(str(tmp_path), "json")
    opener = sink.begin(ID)
    messages = []
    for attempt in range(2):
        writer = opener.open(TaskId(ID, 0, attempt))
        writer.write(pa.record_batch({"n": [1]}))
        messages.append(writer.close())
    sink.commit(ID, messages[1:])
    assert [path.name for path in tmp_path.iterdir()] == ["000007-0.json"]
