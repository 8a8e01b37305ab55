"""Which files and parts of files a micro-batch has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
from tests.catalog.publishing.object_store import BUCKET, ObjectStore, serve

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.admission_log import Item
from millstream.connectors.file.avro_files import AvroFiles
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.folders import base_of
from millstream.connectors.file.item_stream import FileItemStream, FileSettings, distribute
from millstream.connectors.file.json_lines import JsonFiles
from millstream.connectors.file.parquet_files import ParquetFiles
from millstream.connectors.file.row_counts import RowCounter, part_of_groups
from millstream.connectors.file.values import Column
from millstream.connectors.file.work_names import decode_item
from millstream.errors import RunError, StateError

LIMIT = ReadMaxFiles(100)
TYPES = {"n": pa.int64(), "t": pa.string()}
COLUMNS = tuple(Column(name, kind, "", None) for name, kind in TYPES.items())
COUNTERS = {
    "csv": RowCounter("csv", CsvForm(), header=True),
    "json": RowCounter("json"),
    "parquet": RowCounter("parquet"),
    "avro": RowCounter("avro"),
}


def stream(
    folder: Path,
    files: int | None = None,
    rows: int | None = None,
    form: str = "json",
    run: str | None = None,
) -> FileItemStream:
    run = run or uuid4().hex
    settings = FileSettings(
        f"{folder}/in", False, f"{folder}/log", run, 2, files, rows, 10**12, COUNTERS[form]
    )
    return FileItemStream(FileSettings.decoded(settings.encoded()))


def add(folder: Path, name: str, text: str = "{}\n", modified: int = 1) -> None:
    path = folder / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (modified, modified))


def items(read: FileItemStream, start: Mapping[str, int], end: Mapping[str, int]) -> list[str]:
    return [item for task in read.partitions(dict(start), dict(end)) for item in task.items]


def batches(folder: Path, **limits: object) -> list[list[str]]:
    """Reads what exists; another stream, as after a restart, must find the same batches."""
    read = stream(folder, **limits)  # type: ignore[arg-type]
    read.prepareForTriggerAvailableNow()
    offset, found = read.initialOffset(), []
    while (end := read.latestOffset(offset, LIMIT)) != offset:
        found.append(items(read, offset, end))
        repeated = stream(folder, **limits)  # type: ignore[arg-type]
        assert repeated.latestOffset(offset, LIMIT) == end
        assert items(repeated, offset, end) == found[-1]
        offset = end
    return found


def names(found: list[list[str]]) -> list[list[str]]:
    return [sorted(Path(decode_item(item)[0]).name for item in batch) for batch in found]


def test_files_are_taken_oldest_first_and_once(tmp_path):
    for name, modified in (("c", 1), ("a", 3), ("b", 2), ("d", 2)):
        add(tmp_path, name, modified=modified)
    assert names(batches(tmp_path, files=2)) == [["b", "c"], ["a", "d"]]
    add(tmp_path, "a", "changed", modified=9)
    add(tmp_path, "new", modified=-10)
    offset = {"batch": 2}
    read = stream(tmp_path, files=2)
    end = read.latestOffset(offset, LIMIT)
    assert names([items(read, offset, end)]) == [["new"]]


def test_all_files_are_one_batch_without_a_limit_and_for_a_reader_of_everything(tmp_path):
    for name in "abc":
        add(tmp_path, name)
    assert names(batches(tmp_path)) == [["a", "b", "c"]]
    for name in "def":
        add(tmp_path, name)
    read = stream(tmp_path, files=1)
    end = read.latestOffset({"batch": 1}, ReadAllAvailable())
    assert (end, names([items(read, {"batch": 1}, end)])) == ({"batch": 4}, [["d", "e", "f"]])


def test_a_run_of_what_exists_does_not_find_later_files(tmp_path):
    add(tmp_path, "a")
    read = stream(tmp_path)
    read.prepareForTriggerAvailableNow()
    add(tmp_path, "b")
    end = read.latestOffset(read.initialOffset(), LIMIT)
    assert names([items(read, {"batch": 0}, end)]) == [["a"]]
    assert read.latestOffset(end, LIMIT) == end


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path, monkeypatch):
    add(tmp_path, "a")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", f"{tmp_path}/in")

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(RunError) as caught:
        stream(tmp_path).latestOffset({"batch": 0}, LIMIT)
    assert caught.value.code == "MS-RUN-FILE"
    assert "cannot be listed: [Errno 13] Permission denied" in caught.value.cause


def test_a_file_that_is_deleted_before_its_batch_is_planned_is_ignored(tmp_path):
    for name in "abc":
        add(tmp_path, name)
    read = stream(tmp_path, files=1)
    first = read.latestOffset({"batch": 0}, LIMIT)
    (tmp_path / "in/b").unlink()
    second = read.latestOffset(first, LIMIT)
    assert names([items(read, first, second)]) == [["c"]]


def test_two_readers_of_a_source_have_the_same_batches(tmp_path):
    """Spark asks one reader after the other; files appear before and after each call."""
    for run, seed in (("first", 1), ("second", 2)):
        one, other = (stream(tmp_path, files=1, run=run) for _ in range(2))
        offset = {"batch": one.log.last}
        appear, number = Random(seed), 0
        for _ in range(30):
            ends = []
            for read in (one, other):
                if appear.random() < 0.3:
                    number += 1
                    add(tmp_path, f"{run}-{number}")
                ends.append(read.latestOffset(offset, LIMIT))
            assert ends[0] == ends[1]
            assert items(one, offset, ends[0]) == items(other, offset, ends[1])
            offset = ends[0]
        assert offset["batch"] > 0
    assert len(list(tmp_path.glob("log.*.reader"))) == 2
    found = [Path(item).name for item in items(one, {"batch": 0}, offset)]
    assert len(found) == len(set(found)) == offset["batch"]


def test_the_offset_of_an_earlier_version_is_rejected(tmp_path):
    for call in (
        lambda read: read.latestOffset({"logOffset": 3}, LIMIT),
        lambda read: read.partitions({"batch": 0}, {"logOffset": 3}),
    ):
        with pytest.raises(StateError) as caught:
            call(stream(tmp_path))
        assert caught.value.code == "MS-STATE-FORMAT"
        assert "start again: with another checkpoint" in caught.value.fix


def test_items_are_distributed_by_size_in_their_order():
    large, small = [Item(f"l{n}", 0, None, 9 << 20, 0) for n in "12"], [Item("s", 0, None, 1, 0)]
    assert distribute([large[0], *small, large[1]], 2) == [[large[0], *small], [large[1]]]
    assert distribute([], 2) == []
    assert distribute(small, 8) == [small]


RECORDS = st.lists(st.lists(st.text('ab\n",é', max_size=4), max_size=9), min_size=1, max_size=4)


@given(RECORDS, st.integers(1, 7), st.sampled_from(sorted(COUNTERS)), st.integers(1, 3))
def test_every_row_is_in_one_batch_and_no_batch_is_larger_than_the_limit(
    tmp_path_factory, files, limit, form, parts
):
    folder = tmp_path_factory.mktemp("rows")
    (folder / "in").mkdir()
    expected = []
    for number, texts in enumerate(files):
        rows = [{"n": number * 100 + row, "t": text} for row, text in enumerate(texts)]
        expected += [tuple(row.values()) for row in rows]
        write(folder / "in" / f"{number}.{form}", form, rows)
    reader = {"csv": CsvFiles, "json": JsonFiles, "parquet": ParquetFiles, "avro": AvroFiles}[form](
        f"{folder}/in", COLUMNS
    )
    found = []
    for batch in batches(folder, rows=limit, form=form):
        read = [
            row
            for item in batch
            for part in range(parts)
            for rows in reader.read(item, TYPES, part, parts)
            for row in rows.to_pylist()
        ]
        assert len(read) <= limit
        assert [row[BAD] for row in read if row[BAD]] == []
        found += [(row["n"], row["t"]) for row in read]
    assert sorted(found) == sorted(expected)


def write(path: Path, form: str, rows: list[dict[str, object]]) -> None:
    table = pa.Table.from_pylist(rows, pa.schema(list(TYPES.items())))
    if form == "parquet":
        pq.write_table(table, path, row_group_size=3)
    elif form == "avro":
        import fastavro

        fields = [{"name": "n", "type": "long"}, {"name": "t", "type": "string"}]
        schema = {"type": "record", "name": "r", "fields": fields}
        with path.open("wb") as file:
            fastavro.writer(file, schema, rows, sync_interval=20)
    elif form == "json":
        import json

        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        quoted = ('"' + str(row["t"]).replace('"', '""') + '"' for row in rows)
        lines = (f"{row['n']},{text}\n" for row, text in zip(rows, quoted, strict=True))
        path.write_text("n,t\n" + "".join(lines), newline="")


def test_files_of_an_object_store_are_read_with_the_columns_of_their_folders(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    store = ObjectStore()
    for day, text in ((1, "n\n1\n2\n"), (2, "n\n3\n")):
        store.put(f"in/t=day {day}/a.csv", text, datetime(2026, 1, day, tzinfo=UTC))
    with serve(store) as url:
        options = f"?scheme=http&endpoint_override={url.removeprefix('http://')}"
        path = f"s3://{BUCKET}/in{options}"
        settings = FileSettings(
            path, False, f"{tmp_path}/log", "1", 2, 1, None, 10**12, COUNTERS["csv"]
        )
        read, offset, found = FileItemStream(settings), {"batch": 0}, []
        while (end := read.latestOffset(offset, LIMIT)) != offset:
            for item in items(read, offset, end):
                for rows in CsvFiles(base_of(path), COLUMNS).read(item, TYPES):
                    found += rows.to_pylist()
            offset = end
    assert [(row["n"], row["t"], row[BAD]) for row in found] == [
        (1, "day 1", None),
        (2, "day 1", None),
        (3, "day 2", None),
    ]


def test_a_compressed_file_is_a_batch_of_its_own(tmp_path):
    for name in ("a.json", "b.json.gz", "c.json"):
        add(tmp_path, name)
    assert names(batches(tmp_path, rows=5)) == [["a.json"], ["b.json.gz"], ["c.json"]]


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 12))
def test_parts_of_row_groups_are_within_the_limit_and_complete(groups, most):
    begin, total, is_last = 0, 0, False
    while not is_last:
        part = part_of_groups(groups, begin, most)
        assert part.rows == part.end - begin <= most
        assert part.rows or part.is_last
        begin, total, is_last = part.end, total + part.rows, part.is_last
    assert total == sum(groups)
