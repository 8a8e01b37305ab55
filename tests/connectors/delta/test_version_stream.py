"""A stream of a table has each added row once, whatever the sizes of batches are."""

from __future__ import annotations

import json
import shutil
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.connectors.delta.sinks import table_rows

from millstream.connectors.delta.log import TableLog
from millstream.connectors.file.values import Column
from millstream.connectors.lake.data_file import DataFile
from millstream.connectors.lake.reader import LakeFiles
from millstream.connectors.lake.version_stream import (
    Position,
    StreamSettings,
    VersionStream,
    advance,
    files_between,
)
from millstream.errors import RunError

LIMIT = ReadMaxRows(0)
COLUMNS = (Column("n", pa.int64(), "BIGINT"), Column("day", pa.date32(), "DATE"))
WANTED = {"day": pa.date32(), "N": pa.int64()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a table"


def append(path: Path, *numbers: int, **more) -> None:
    rows = pa.table({"n": pa.array(numbers, pa.int64())})
    write_deltalake(str(path), rows, mode="append", **more)


def stream(path: Path, start: str = "snapshot", value: int = 0, limit: int = 1000, **more: bool):
    ignore = more.get("ignore_changes", False)
    log = TableLog("source s", str(path), ignore_changes=ignore)
    return VersionStream(StreamSettings(start, value, limit, 2), log)


def read(source: VersionStream, start, end) -> list[int]:
    """The numbers in the files of a batch, as executors read them."""
    files = LakeFiles((Column("n", pa.int64(), "BIGINT"),))
    return sorted(
        number
        for task in source.partitions(start, end)
        for item in task.items
        for batch in files.read(item, {"n": pa.int64()})
        for number in batch.column("n").to_pylist()
    )


def batches(source: VersionStream, start=None) -> list[list[int]]:
    """The batches until nothing is new."""
    offset = start or source.initialOffset()
    found = []
    while (end := source.latestOffset(offset, LIMIT)) != offset:
        found.append(read(source, offset, end))
        offset = json.loads(json.dumps(end))
    return found


def test_a_new_checkpoint_begins_with_all_rows_and_continues_with_new_ones(path):
    append(path, 1)
    append(path, 2, 3)
    source = stream(path)
    start = source.initialOffset()
    first = source.latestOffset(start, LIMIT)
    assert read(source, start, first) == [1, 2, 3]
    assert source.latestOffset(first, LIMIT) == first
    append(path, 4)
    append(path, 5)
    again = stream(path)
    second = again.latestOffset(first, LIMIT)
    assert read(again, first, second) == [4, 5]
    assert read(again, start, second) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_a_batch_has_at_most_as_many_files_as_it_may(path, limit):
    for number in range(5):
        append(path, number)
    found = batches(stream(path, limit=limit))
    assert sorted([*chain(*found)]) == [0, 1, 2, 3, 4]
    assert max(len(batch) for batch in found) == min(limit, 5)
    found = batches(stream(path, "version", 1, limit=limit))
    assert [*chain(*found)] == [1, 2, 3, 4]


class Log:
    """A log whose versions have so many files; the snapshot of a version has all before it."""

    pause = 0.0

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def describe(self) -> tuple[str, int]:
        return "id", len(self.counts) - 1

    def latest(self, known_id: str) -> int:  # noqa: ARG002
        return len(self.counts) - 1

    def version_at(self, millis: int) -> int:
        return millis

    def files_of(self, version: int) -> tuple[DataFile, ...]:
        return tuple(DataFile(f"{version}/{n}") for n in range(self.counts[version]))

    def snapshot(self, version: int) -> tuple[DataFile, ...]:
        return tuple(chain(*map(self.files_of, range(version + 1))))


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=8),
    st.lists(st.integers(1, 5), min_size=1),
    st.booleans(),
    st.data(),
)
def test_batches_of_any_sizes_have_every_file_once_and_in_order(counts, limits, snapshot, data):
    log, last = Log(counts), len(counts) - 1
    place = Position(data.draw(st.integers(0, last)), is_snapshot=snapshot)
    expected = [*log.snapshot(place.version)] if snapshot else [*log.files_of(place.version)]
    expected += [file for each in range(place.version + 1, last + 1) for file in log.files_of(each)]
    found, step = [], 0
    start = place
    while (end := advance(log, place, last, limits[step % len(limits)])) != place:
        files = [*files_between(log, place, end)]
        assert len(files) <= limits[step % len(limits)]
        assert Position.of(end.logged("id")) == end
        found += files
        place, step = end, step + 1
    assert found == expected
    assert [*files_between(log, start, place)] == expected
    assert place == Position(last + 1)


def test_a_run_until_the_end_of_input_ignores_later_versions(path):
    append(path, 1)
    source = stream(path)
    source.prepareForTriggerAvailableNow()
    append(path, 2)
    assert batches(source) == [[1]]
    start = stream(path).initialOffset()
    bounded = stream(path)
    bounded.prepareForTriggerAvailableNow()
    end = bounded.latestOffset(start, ReadAllAvailable())
    append(path, 3)
    bounded._looked = -1.0
    assert bounded.latestOffset(end, LIMIT) == end


def test_reading_starts_where_it_was_told(path):
    for number in range(3):
        append(path, number)
    times = {each["version"]: each["timestamp"] for each in DeltaTable(str(path)).history()}
    assert batches(stream(path, "version", 2)) == [[2]]
    assert batches(stream(path, "timestamp", times[1])) == [
        [version for version in range(3) if times[version] >= times[1]]
    ]
    assert batches(stream(path, "timestamp", times[2] + 100_000)) == []
    source = stream(path, "latest")
    start = source.initialOffset()
    append(path, 3)
    assert batches(source, start) == [[3]]


def test_compacted_files_are_not_read_again(path):
    for number in range(3):
        append(path, number)
    start = stream(path, "latest").initialOffset()
    table = DeltaTable(str(path))
    table.optimize.compact()
    append(path, 3)
    assert [*chain(*batches(stream(path), start))] == [3]
    assert batches(stream(path)) == [[0, 1, 2, 3]]


def test_updates_and_deletes_stop_the_job_or_are_skipped_as_a_whole(path):
    append(path, 1, 2)
    start = stream(path, "latest").initialOffset()
    DeltaTable(str(path)).delete("n = 1")
    append(path, 3)
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-CHANGES") as error:
        batches(stream(path), start)
    assert "version 1 of" in error.value.cause
    assert "'ignore.changes' = 'true'" in error.value.fix
    skipping = stream(path, ignore_changes=True)
    assert [*chain(*batches(skipping, start))] == [3]
    assert batches(stream(path)) == [[2, 3]]


def test_versions_that_were_removed_from_the_log_are_an_error(path):
    append(path, 0)
    start = stream(path, "version", 0).initialOffset()
    append(path, 1)
    DeltaTable(str(path)).create_checkpoint()
    (path / "_delta_log" / f"{0:020d}.json").unlink()
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-LOST") as error:
        batches(stream(path), start)
    assert "version 0 of" in error.value.cause


def test_a_table_that_was_created_again_is_an_error(path):
    for number in range(3):
        append(path, number)
    start = stream(path, "latest").initialOffset()
    shutil.rmtree(path)
    append(path, 1)
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-TABLE.*created again"):
        batches(stream(path), start)


def test_deletion_vectors_and_mapped_columns_are_rejected(path, tmp_path):
    append(path, 1)
    log = path / "_delta_log"
    action = {"path": "x.parquet", "size": 1, "partitionValues": {}, "dataChange": True}
    vector = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    text = json.dumps({"add": action | {"deletionVector": vector}})
    (log / f"{1:020d}.json").write_text(text)
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-FEATURE.*deletion vectors"):
        TableLog("source s", str(path)).files_of(1)
    settings = {"delta.columnMapping.mode": "name"}
    schema = Schema.from_arrow(pa.schema([("n", pa.int64())]))
    DeltaTable.create(str(tmp_path / "m"), schema, configuration=settings)
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-FEATURE.*maps column names"):
        stream(tmp_path / "m").initialOffset()


def test_partition_values_and_columns_that_a_file_lacks_are_read(path):
    rows = pa.table(
        {"n": pa.array([1, 2, 3], pa.int64()), "day": ["2026-01-15", "2026-01-16", None]}
    )
    rows = rows.set_column(1, "day", rows.column("day").cast(pa.date32()))
    write_deltalake(str(path), rows, partition_by=["day"])
    more = rows.append_column("more", pa.array(["a", "b", None]))
    write_deltalake(str(path), more, mode="append", schema_mode="merge")
    reader = LakeFiles((*COLUMNS, Column("more", pa.string(), "STRING")))
    wanted = {"day": pa.date32(), "more": pa.string(), "n": pa.int64()}
    for source in (stream(path), stream(path, "version", 0)):
        start = source.initialOffset()
        end = source.latestOffset(start, LIMIT)
        found = [
            tuple(row[name] for name in wanted)
            for task in source.partitions(start, end)
            for item in task.items
            for batch in reader.read(item, wanted)
            for row in batch.to_pylist()
        ]
        expected = [(day, text, n) for n, day, text in table_rows(path)]
        assert sorted(found, key=str) == sorted(expected, key=str)
        only = [
            row["day"]
            for task in source.partitions(start, end)
            for item in task.items
            for batch in reader.read(item, {"day": pa.date32()})
            for row in batch.to_pylist()
        ]
        assert sorted(only, key=str) == sorted((row[0] for row in expected), key=str)


def test_times_in_partition_values_are_read(path):
    times = pa.array([1_768_473_000_000_007, None], pa.int64()).cast(pa.timestamp("us", "UTC"))
    write_deltalake(str(path), pa.table({"n": [1, 2], "at": times}), partition_by=["at"])
    kinds = {"at": pa.timestamp("us", "UTC"), "n": pa.int64()}
    reader = LakeFiles((Column("at", kinds["at"], "TIMESTAMP"), COLUMNS[0]))
    for source in (stream(path), stream(path, "version", 0)):
        start = source.initialOffset()
        tasks = source.partitions(start, source.latestOffset(start, LIMIT))
        found = [
            row
            for task in tasks
            for item in task.items
            for batch in reader.read(item, kinds)
            for row in batch.select(["n", "at"]).to_pylist()
        ]
        expected = [{"n": 1, "at": times[0].as_py()}, {"n": 2, "at": None}]
        assert sorted(found, key=lambda row: row["n"]) == expected
