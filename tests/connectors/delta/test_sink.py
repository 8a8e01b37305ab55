"""The Delta sink writes what a plain Python table would contain, each batch once."""

from __future__ import annotations

import datetime as dt
import shutil
from collections import Counter
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.delta.sinks import data_files, sink_on, table_rows
from tests.connectors.sink_batches import batch_id, rows_of, write

from millstream.connectors.sink import TaskId
from millstream.errors import RunError

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])
CHANGES = pa.schema([*ROWS, ("_OP", pa.string())])
texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]))
changes = st.lists(
    st.tuples(
        st.none() | st.integers(0, 3),
        st.sampled_from([None, "", "a"]),
        st.sampled_from(["+I", "+U", "-U", "-D"]),
    ),
    max_size=10,
)
random_rows = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a table"


@random_rows
@given(rows=st.lists(st.tuples(st.none() | st.integers(-5, 5), texts), max_size=8), by=...)
def test_appended_rows_are_read_back_unchanged(path, rows: list[tuple[int, str]], by: bool):
    shutil.rmtree(path, ignore_errors=True)
    sink = sink_on(path, ROWS, **({"partition_by": "NOTE"} if by else {}))
    write(sink, batch_id(0), [[rows_of(rows[:3], ROWS)], [rows_of(rows[3:], ROWS)]])
    # The Delta protocol has no empty text in a partition column: it means NULL.
    expected = Counter((key, None if by and note == "" else note) for key, note in rows)
    assert Counter(table_rows(path)) == expected


def test_every_type_is_read_back_unchanged(path):
    time = dt.datetime(2026, 1, 15, 10, 30, 1, 7, dt.UTC)
    values = {
        "Flag": (pa.bool_(), [True, None]),
        "tiny": (pa.int8(), [-128, None]),
        "small": (pa.int16(), [-32768, None]),
        "whole": (pa.int32(), [2**31 - 1, None]),
        "large": (pa.int64(), [-(2**63), None]),
        "real": (pa.float32(), [1.5, float("inf")]),
        "double": (pa.float64(), [1e300, float("-inf")]),
        "exact": (pa.decimal128(20, 4), [Decimal("-1234567890123456.7890"), None]),
        "odd `name`, %s": (pa.string(), ["", None]),
        "bytes": (pa.binary(), [b"\x00\xff", b""]),
        "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "local": (pa.timestamp("us"), [time.replace(tzinfo=None), None]),
        "instant": (pa.timestamp("us", "Europe/Berlin"), [time, None]),
        "list": (pa.list_(pa.int32()), [[1, None], None]),
        "struct": (pa.struct([("a", pa.timestamp("us", "Europe/Berlin"))]), [{"a": time}, None]),
        "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in values.items()])
    arrays = [pa.array(items, kind) for kind, items in values.values()]
    rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
    write(sink_on(path, schema), batch_id(0), [[rows]])
    expected = list(zip(*(items for _, items in values.values()), strict=True))
    assert table_rows(path) == expected
    count = duckdb.execute(f"SELECT count(*) FROM '{path}/*.parquet'").fetchall()
    assert count == [(2,)]
    write(sink_on(path, schema, key_columns="large"), batch_id(0, "other"), [[rows]])
    assert sorted(table_rows(path), key=lambda row: row[0] is None) == expected


def test_partition_values_have_the_text_of_the_protocol(path):
    time = dt.datetime(2026, 1, 15, 10, 30, 1, 7, ZoneInfo("Europe/Berlin"))
    schema = pa.schema(
        [
            ("v", pa.int64()),
            ("n", pa.int32()),
            ("flag", pa.bool_()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "Europe/Berlin")),
            ("exact", pa.decimal128(10, 2)),
            ("text", pa.string()),
        ]
    )
    rows = [
        (1, -7, True, dt.date(2026, 1, 15), time, Decimal("-1.50"), "a/b=c d%&ä" * 30),
        (2, None, None, None, None, None, None),
    ]
    sink = sink_on(path, schema, partition_by="n, flag, day, at, exact, text")
    write(sink, batch_id(0), [[rows_of(rows, schema)]])
    assert sorted(table_rows(path)) == rows
    assert DeltaTable(str(path)).metadata().partition_columns == list(schema.names[1:])


@random_rows
@given(batches=st.lists(changes, min_size=1, max_size=4), by=st.booleans())
def test_the_last_change_of_each_key_is_in_the_table(path, batches, by):
    shutil.rmtree(path, ignore_errors=True)
    options = {"partition_by": "note"} if by else {}
    sink = sink_on(path, CHANGES, key_columns="ID", **options)
    expected: dict[int | None, str | None] = {}
    for number, batch in enumerate(batches):
        half = len(batch) // 2
        tasks = [[rows_of(batch[:half], CHANGES)], [rows_of(batch[half:], CHANGES)]]
        write(sink, batch_id(number), tasks)
        for key, note, op in batch:
            expected.pop(key, None)
            if op not in ("-D", "-U"):
                expected[key] = None if by and note == "" else note
        assert Counter(table_rows(path)) == Counter(expected.items())
    assert not list((path / "_millstream").rglob("*.arrow"))


def test_a_changelog_without_a_key_is_appended_with_its_kinds_of_changes(path):
    sink = sink_on(path, CHANGES)
    write(sink, batch_id(0), [[rows_of([(1, "a", "+I"), (1, "a", "-D")], CHANGES)]])
    assert table_rows(path) == [(1, "a", "+I"), (1, "a", "-D")]


@pytest.mark.parametrize("options", [{}, {"key_columns": "id"}], ids=["append", "merge"])
def test_a_repeated_batch_is_not_written_again(path, options):
    for _ in range(3):  # each is a new run, after a kill before Spark's commit
        sink = sink_on(path, ROWS, **options)
        write(sink, batch_id(0), [[rows_of([(1, "a"), (2, "b")], ROWS)]])
    write(sink, batch_id(1), [[rows_of([(3, "c")], ROWS)]])
    assert sorted(table_rows(path)) == [(1, "a"), (2, "b"), (3, "c")]
    assert DeltaTable(str(path)).version() == 2
    again = sink_on(path, ROWS)
    write(again, batch_id(0, "another checkpoint"), [[rows_of([(1, "a")], ROWS)]])
    assert Counter(table_rows(path))[1, "a"] == 2


def test_a_batch_that_another_attempt_commits_first_is_not_committed_again(path):
    first, second = sink_on(path, ROWS), sink_on(path, ROWS)
    rows = [[rows_of([(1, "a")], ROWS)]]
    write(first, batch_id(0), rows, before_commit=lambda: write(second, batch_id(0), rows))
    assert table_rows(path) == [(1, "a")]


def test_other_programs_may_write_to_the_table_at_the_same_time(path):
    sink, other = sink_on(path, ROWS), sink_on(path, ROWS)
    rows = [[rows_of([(1, "a")], ROWS)]]

    def write_others() -> None:
        for number in range(12):  # the log has a checkpoint after ten versions
            write(other, batch_id(number, "other"), rows)

    write(sink, batch_id(0), rows, before_commit=write_others)
    write(sink, batch_id(1), rows)
    assert len(table_rows(path)) == 14


def test_an_aborted_batch_leaves_no_files_and_rows(path):
    for options in ({}, {"key_columns": "id"}):
        sink = sink_on(path, ROWS, **options)
        opener = sink.begin(batch_id(0))
        done = opener.open(TaskId(batch_id(0), 0))
        done.write(rows_of([(1, "a")], ROWS))
        message = done.close()
        failed = opener.open(TaskId(batch_id(0), 1))
        failed.write(rows_of([(2, "b")], ROWS))
        failed.abort()
        sink.abort(batch_id(0), [message])
        assert data_files(path) == []
        assert not list((path / "_millstream").rglob("*.arrow"))
        assert table_rows(path) == []


def test_an_empty_batch_makes_no_version(path):
    sink = sink_on(path, ROWS)
    write(sink, batch_id(0), [])
    write(sink, batch_id(1), [[rows_of([], ROWS)]])
    assert DeltaTable(str(path)).version() == 0


def test_an_older_checkpoint_than_the_table_is_rejected(path):
    sink = sink_on(path, ROWS)
    write(sink, batch_id(5), [[rows_of([(1, "a")], ROWS)]])
    with pytest.raises(RunError, match="MS-RUN-DELTA-MARKER") as error:
        sink_on(path, ROWS).begin(batch_id(3))
    assert "batches up to 5 of this checkpoint, which is at batch 3" in str(error.value)


def test_a_query_may_write_fewer_columns_and_narrower_types_than_the_table_has(path):
    wide = pa.schema([("ID", pa.int64()), ("note", pa.string()), ("more", pa.float64())])
    write(sink_on(path, wide), batch_id(0), [[rows_of([(1, "a", 1.5)], wide)]])
    narrow = pa.schema([("more", pa.float32()), ("id", pa.int16())])
    write(sink_on(path, narrow), batch_id(0, "other"), [[rows_of([(2.5, 2)], narrow)]])
    merging = sink_on(path, narrow, key_columns="id")
    write(merging, batch_id(0, "third"), [[rows_of([(7.5, 1), (3.5, 3)], narrow)]])
    assert sorted(table_rows(path)) == [(1, "a", 7.5), (2, None, 2.5), (3, None, 3.5)]
