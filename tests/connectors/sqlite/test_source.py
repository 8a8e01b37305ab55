"""A stream of an SQLite table has the rows with greater values of a column, each once."""

from __future__ import annotations

import json
from itertools import chain

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from tests.connectors.sqlite.sinks import execute

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.sqlite.row_ranges import RangeSettings
from millstream.connectors.sqlite.source import SqliteRows, as_source, checked, incremental_column
from millstream.errors import MillstreamError, RunError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Source

LIMIT = ReadMaxRows(0)
SCHEMA = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", "UTC"))])


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "a shop.db"
    execute(found, "CREATE TABLE orders (id INTEGER, t TEXT)")
    return found


def insert(path, *numbers):
    for n in numbers:
        execute(path, f"INSERT INTO orders VALUES ({n}, '2026-01-15T10:00:{n:02d}.5Z')")


def stream(path, column="id", limit=1000):
    return RangeSettings("source orders", str(path), "orders", column, limit).stream


def batches(path, source, column="id", start=None):
    options = (("path", str(path)), ("table", "orders"))
    rows = SqliteRows(LookupSpec("orders", "sqlite", options, ("id",), ("id", "t"), SCHEMA), column)
    offset = start or source.initialOffset()
    found: list[list[int]] = []
    while True:
        source._looked = -1.0
        end = source.latestOffset(offset, LIMIT)
        if end == offset:
            return found, offset
        items = [task.item for task in source.partitions(offset, end)]
        read = [b["id"].to_pylist() for i in items for b in rows.read(i, {"id": pa.int64()})]
        found.append(sorted(chain(*read)))
        offset = json.loads(json.dumps(end))


@pytest.mark.parametrize("column", ["id", "t"])
def test_rows_with_greater_values_are_read_in_limited_batches(path, column):
    insert(path, 3, 1, 2, 5)
    found, offset = batches(path, stream(path, column, limit=2), column)
    assert found == [[1, 2], [3, 5]]
    insert(path, 6, 4)  # 4 is not greater than the last value
    assert batches(path, stream(path, column), column, offset)[0] == [[6]]


def test_rows_with_one_value_are_in_one_batch_and_those_without_are_not_read(path):
    insert(path, 1, 1, 1, 2)
    execute(path, "INSERT INTO orders VALUES (NULL, NULL)")
    assert batches(path, stream(path, limit=2))[0] == [[1, 1, 1], [2]]


def test_a_bounded_run_ends_with_the_rows_at_its_start(path):
    insert(path, 1, 2)
    source = stream(path)
    source.prepareForTriggerAvailableNow()
    insert(path, 3)
    assert batches(path, source)[0] == [[1, 2]]


def test_a_snapshot_has_all_rows_once(path):
    insert(path, 2, 1, 1)
    found, offset = batches(path, stream(path, ""), "")
    assert found == [[1, 1, 2]]
    insert(path, 3)
    assert batches(path, stream(path, ""), "", offset)[0] == []


def test_a_database_that_is_gone_is_an_error(path):
    path.unlink()
    with pytest.raises(RunError, match=r"MS-RUN-SQLITE-FAILED.*source orders"):
        batches(path, stream(path))


def test_a_value_of_another_type_is_an_error_of_the_source(path):
    execute(path, "INSERT INTO orders VALUES (1, '2026-01-15'), ('one', NULL)")
    with pytest.raises(RunError) as error:
        batches(path, stream(path, ""), "")
    assert str(error.value) == (
        "MS-RUN-SQLITE-VALUE: column id of source orders is declared BIGINT, but the database "
        "contains a string. Write STRING in CREATE SOURCE."
    )


def test_columns_are_checked_before_a_job_starts(path):
    def spec(table, *types):
        options = (("path", str(path)), ("table", table))
        names = ("id", "t")
        schema = pa.schema(list(zip(names, types, strict=True)))
        return LookupSpec("orders", "sqlite", options, ("id",), names, schema)

    with (
        pytest.raises(RunError, match=r"MS-RUN-SQLITE-TABLE.*source orders: .*no table gone"),
        as_source(spec("gone", pa.int64(), pa.string())),
    ):
        checked(spec("gone", pa.int64(), pa.string()))
    with pytest.raises(RunError) as error:
        checked(spec("orders", pa.string(), pa.string()))
    assert str(error.value) == (
        "MS-RUN-SQLITE-TABLE: source orders: column id is INTEGER, which cannot be read as STRING. "
        "Declare it BIGINT."
    )
    source = Source("orders", (), options=(("mode", "incremental"), ("incremental.column", "id")))
    with pytest.raises(RunError, match=r"MS-RUN-SQLITE-TABLE.* = 'id' cannot be a DOUBLE"):
        incremental_column(source, spec("orders", pa.float64(), pa.string()))


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ("'mode' = 'incremental'", "MS-PROP-MISSING"),
        ("'incremental.column' = 'id'", "MS-PROP-UNUSED"),
        ("'mode' = 'cdc'", "MS-PROP-VALUE"),
    ],
)
def test_contradictions_are_rejected(properties, code):
    source = (
        f"CREATE SOURCE s (id BIGINT) WITH ('connector' = 'sqlite', 'path' = 'a', {properties})"
    )
    with pytest.raises(MillstreamError, match=code):
        build_job(f"{source}; CREATE SINK o WITH ('connector' = 'console') AS SELECT id FROM s")
