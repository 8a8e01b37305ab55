"""A stream of an Iceberg table has each added row once."""

from __future__ import annotations

import datetime as dt
import json
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from tests.connectors.iceberg.tables import catalog, stream, table_rows

from millstream.connectors.file.values import Column
from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.source import reject_renamed_columns
from millstream.connectors.lake.reader import LakeFiles
from millstream.connectors.lake.version_stream import VersionStream
from millstream.errors import RunError

LIMIT = ReadMaxRows(0)
SCHEMA = pa.schema([("n", pa.int64()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))])
DAY = dt.date(2026, 1, 15)
TIME = dt.datetime(2026, 1, 15, 10, 30, 0, 7, dt.UTC)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a b").mkdir()
    return tmp_path / "a b"


def create(folder: Path, **more: Any) -> None:
    found = catalog(folder)
    found.create_namespace_if_not_exists("db")
    found.create_table("db.t", SCHEMA, **more)


def append(folder: Path, *numbers: int) -> None:
    rows = [{"n": n, "day": DAY if n % 2 else None, "at": TIME} for n in numbers]
    catalog(folder).load_table("db.t").append(pa.Table.from_pylist(rows, SCHEMA))


def read(source: VersionStream, start, end) -> list[tuple[Any, ...]]:
    wanted = {field.name: field.type for field in SCHEMA}
    files = LakeFiles(tuple(Column(f.name, f.type, str(f.type)) for f in SCHEMA))
    return sorted(
        (
            tuple(row[name] for name in wanted)
            for task in source.partitions(start, end)
            for item in task.items
            for batch in files.read(item, wanted)
            for row in batch.to_pylist()
        ),
        key=str,
    )


def batches(source: VersionStream, start=None) -> list[list[int]]:
    """The numbers of batches until nothing is new."""
    offset = start or source.initialOffset()
    found = []
    while (end := source.latestOffset(offset, LIMIT)) != offset:
        found.append(sorted(row[0] for row in read(source, offset, end)))
        offset = json.loads(json.dumps(end))
    return found


def test_a_new_checkpoint_begins_with_all_rows_and_continues_with_new_ones(folder):
    create(folder)
    empty = stream(folder).initialOffset()
    append(folder, 1)
    append(folder, 2, 3)
    source = stream(folder)
    start = source.initialOffset()
    first = source.latestOffset(start, LIMIT)
    assert read(source, start, first) == sorted(table_rows(folder), key=str)
    append(folder, 4)
    append(folder, 5)
    assert batches(stream(folder), first) == [[4, 5]]
    assert list(chain(*batches(stream(folder, limit=1), empty))) == [1, 2, 3, 4, 5]
    assert list(chain(*batches(stream(folder, limit=2)))) == [1, 2, 3, 4, 5]
    assert len(batches(stream(folder, limit=2))) == 2


def test_partition_columns_of_all_types_are_read(folder):
    create(folder)
    with catalog(folder).load_table("db.t").update_spec() as spec:
        spec.add_identity("day")
        spec.add_identity("at")
        spec.add_identity("n")
    append(folder, 1, 2)
    source = stream(folder)
    start = source.initialOffset()
    end = source.latestOffset(start, LIMIT)
    assert read(source, start, end) == [(1, DAY, TIME), (2, None, TIME)]


def test_reading_starts_where_it_was_told(folder):
    create(folder)
    append(folder, 1)
    append(folder, 2)
    first, second = (each.timestamp_ms for each in catalog(folder).load_table("db.t").snapshots())
    expected = [[1, 2]] if first == second else [[2]]
    assert batches(stream(folder, "timestamp", second)) == expected
    latest = stream(folder, "latest").initialOffset()
    append(folder, 3)
    assert batches(stream(folder), latest) == [[3]]


def test_updates_and_deletes_stop_the_job_or_are_skipped_as_a_whole(folder):
    create(folder)
    append(folder, 1, 2)
    start = stream(folder, "latest").initialOffset()
    catalog(folder).load_table("db.t").delete("n = 1")
    append(folder, 3)
    with pytest.raises(RunError, match="MS-RUN-ICEBERG-CHANGES") as error:
        batches(stream(folder), start)
    assert "sequence number 2 of db.t" in error.value.cause
    assert batches(stream(folder, ignore_changes=True), start) == [[3]]
    assert batches(stream(folder)) == [[2, 3]]


def test_expired_snapshots_and_other_tables_are_errors(folder):
    create(folder)
    empty = stream(folder).initialOffset()
    append(folder, 1)
    append(folder, 2)
    table = catalog(folder).load_table("db.t")
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    with pytest.raises(RunError, match="MS-RUN-ICEBERG-LOST") as error:
        batches(stream(folder), {**empty, "version": 1, "snapshot": 0})
    assert "sequence number 1 of db.t has expired" in error.value.cause
    catalog(folder).drop_table("db.t")
    create(folder)
    with pytest.raises(RunError, match=r"MS-RUN-ICEBERG-TABLE.*created again"):
        batches(stream(folder), empty)


def test_renamed_columns_are_rejected(folder):
    create(folder)
    target = CatalogTable("source s", "default", {}, "db.t")
    with catalog(folder).load_table("db.t").update_schema() as update:
        update.rename_column("day", "date")
    with pytest.raises(RunError, match="MS-RUN-ICEBERG-FEATURE") as error:
        reject_renamed_columns(target, catalog(folder).load_table("db.t"))
    assert "renamed, or removed and added again (date, day)" in error.value.cause
    create_again = catalog(folder)
    create_again.drop_table("db.t")
    create(folder)
    with catalog(folder).load_table("db.t").update_schema() as update:
        update.delete_column("day")
    reject_renamed_columns(target, catalog(folder).load_table("db.t"))
    from pyiceberg.types import DateType

    with catalog(folder).load_table("db.t").update_schema() as update:
        update.add_column("day", DateType())
    with pytest.raises(RunError, match="added again"):
        reject_renamed_columns(target, catalog(folder).load_table("db.t"))
