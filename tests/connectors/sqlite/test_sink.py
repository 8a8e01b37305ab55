"""The SQLite sink writes what a plain Python table would contain, each batch once."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.sink_batches import batch_id, rows_of, write
from tests.connectors.sqlite.sinks import execute, sink_on, table_rows

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.sqlite.scan import scan
from millstream.errors import MillstreamError, RunError

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])
CHANGES = pa.schema([*ROWS, ("_OP", pa.string())])
texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]))
changes = st.lists(
    st.tuples(
        st.integers(0, 3),
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
    return tmp_path / "a shop.db"


@random_rows
@given(rows=st.lists(st.tuples(st.none() | st.integers(-5, 5), texts), max_size=8))
def test_appended_rows_are_read_back_unchanged(path, rows):
    path.unlink(missing_ok=True)
    sink = sink_on(path, ROWS)
    write(sink, batch_id(0), [[rows_of(rows[:3], ROWS)], [rows_of(rows[3:], ROWS)]])
    assert Counter(table_rows(path)) == Counter(rows)


def test_every_type_is_read_back_unchanged_by_a_table(path):
    time = dt.datetime(2026, 1, 15, 10, 30, 1, 7, dt.UTC)
    values = {
        "large": (pa.int64(), [-(2**63), None]),
        "Flag": (pa.bool_(), [True, None]),
        "tiny": (pa.int8(), [-128, None]),
        "real": (pa.float32(), [1.5, None]),
        "double": (pa.float64(), [float("inf"), None]),
        "exact": (pa.decimal128(20, 4), [Decimal("-1234567890123456.7890"), None]),
        'odd "name", ?': (pa.string(), ["", None]),
        "bytes": (pa.binary(), [b"\x00\xff", None]),
        "day": (pa.date32(), [dt.date(2026, 1, 15), None]),
        "local": (pa.timestamp("us"), [time.replace(tzinfo=None), None]),
        "instant": (pa.timestamp("us", "UTC"), [time, None]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in values.items()])
    arrays = [pa.array(items, kind) for kind, items in values.values()]
    rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
    write(sink_on(path, schema), batch_id(0), [[rows]])
    options = (("path", str(path)), ("table", "results"))
    names = tuple(schema.names)
    found = pa.Table.from_batches(
        scan(LookupSpec("t", "sqlite", options, names[:1], names, schema), [])
    )
    assert found.to_pylist() == rows.to_pylist()


@random_rows
@given(batches=st.lists(changes, min_size=1, max_size=4))
def test_the_last_change_of_each_key_is_in_the_table(path, batches):
    path.unlink(missing_ok=True)
    sink = sink_on(path, CHANGES, key_columns="ID")
    expected: dict[int, str | None] = {}
    for number, batch in enumerate(batches):
        half = len(batch) // 2
        tasks = [[rows_of(batch[:half], CHANGES)], [rows_of(batch[half:], CHANGES)]]
        write(sink, batch_id(number), tasks)
        for key, note, op in batch:
            expected.pop(key, None)
            if op not in ("-D", "-U"):
                expected[key] = note
        assert table_rows(path) == sorted(expected.items())


@random_rows
@given(batches=st.lists(changes, min_size=1, max_size=4))
def test_a_changelog_without_a_key_withdraws_equal_rows_one_by_one(path, batches):
    path.unlink(missing_ok=True)
    sink = sink_on(path, CHANGES)
    expected: Counter[tuple[int, str | None]] = Counter()
    for number, batch in enumerate(batches):
        applied = []
        for key, note, op in batch:
            is_removal = op in ("-D", "-U")
            if is_removal and not expected[key, note]:
                continue  # a changelog withdraws only rows that it has added
            expected[key, note] += -1 if is_removal else 1
            applied.append((key, note, op))
        write(sink, batch_id(number), [[rows_of(applied, CHANGES)]])
        assert Counter(table_rows(path)) == +expected


def test_a_repeated_batch_is_not_written_again(path):
    for _ in range(3):  # each is a new run, after a kill before Spark's commit
        write(sink_on(path, ROWS), batch_id(0), [[rows_of([(1, "a"), (1, "a")], ROWS)]])
    write(sink_on(path, ROWS), batch_id(1), [[rows_of([], ROWS)]])
    assert table_rows(path) == [(1, "a"), (1, "a")]
    write(sink_on(path, ROWS), batch_id(0, "other"), [[rows_of([(1, "a")], ROWS)]])
    assert len(table_rows(path)) == 3
    write(sink_on(path, ROWS), batch_id(5), [[rows_of([(2, "b")], ROWS)]])
    with pytest.raises(RunError, match="MS-RUN-SQLITE-MARKER"):
        sink_on(path, ROWS).begin(batch_id(3))


def test_a_batch_that_fails_writes_nothing(path):
    execute(path, "CREATE TABLE results (id INTEGER, note TEXT CHECK (note <> 'x'))")
    sink = sink_on(path, ROWS)
    with pytest.raises(RunError, match="MS-RUN-SQLITE-VALUE") as error:
        write(sink, batch_id(0), [[rows_of([(1, "a"), (2, "x")], ROWS)]])
    assert "CHECK constraint failed" in error.value.cause
    assert table_rows(path) == []
    write(sink, batch_id(0), [[rows_of([(1, "a")], ROWS)]])
    assert table_rows(path) == [(1, "a")]


def test_values_that_sqlite_would_change_stop_the_job(path, tmp_path):
    floats = pa.schema([("id", pa.int64()), ("v", pa.float64())])
    with pytest.raises(RunError, match=r"MS-RUN-SQLITE-VALUE.*column v has NaN"):
        write(sink_on(path, floats), batch_id(0), [[rows_of([(1, float("nan"))], floats)]])
    keyed = sink_on(tmp_path / "keyed.db", ROWS, key_columns="id")
    with pytest.raises(RunError, match=r"MS-RUN-SQLITE-VALUE.*key column has NULL"):
        write(keyed, batch_id(0), [[rows_of([(None, "a")], ROWS)]])


@pytest.mark.parametrize(
    ("table", "options", "cause"),
    [
        ("CREATE TABLE other (id)", {"create_table": "false"}, "has no table results"),
        ("CREATE TABLE results (id INT)", {}, "has no column note"),
        ("CREATE TABLE results (id TEXT, note TEXT)", {}, "column id of results is TEXT"),
        ("CREATE TABLE results (id INT, note INT)", {}, "column note of results is INT"),
        (
            "CREATE TABLE results (id INT, note TEXT, n INT NOT NULL)",
            {},
            "column n of results is NOT NULL without a default",
        ),
        (
            "CREATE TABLE results (id INT, note TEXT AS ('x'))",
            {},
            "column note of results is generated",
        ),
        (
            "CREATE TABLE results (id INT, note TEXT)",
            {"key_columns": "id"},
            "has no primary key or unique index of (id)",
        ),
    ],
)
def test_a_table_that_cannot_store_the_rows_is_rejected(path, table, options, cause):
    execute(path, table)
    with pytest.raises(MillstreamError, match="MS-RUN-SQLITE-TABLE") as error:
        sink_on(path, ROWS, **options)
    assert cause in error.value.cause
    assert error.value.fix


def test_an_index_is_a_key_and_a_table_may_have_more_columns(path):
    execute(
        path,
        "CREATE TABLE results (more TEXT DEFAULT 'm', NOTE TEXT, ID BIGINT)",
        "CREATE UNIQUE INDEX by_id ON results (id)",
    )
    sink = sink_on(path, ROWS, key_columns="id")
    write(sink, batch_id(0), [[rows_of([(1, "a"), (1, "b")], ROWS)]])
    assert table_rows(path) == [("m", "b", 1)]


def test_a_file_that_is_no_database_is_an_error(path):
    path.write_bytes(b"no database" * 100)
    with pytest.raises(RunError, match="MS-RUN-SQLITE-FAILED") as error:
        sink_on(path, ROWS)
    assert "file is not a database" in error.value.cause


def test_readers_see_whole_batches(path):
    sink = sink_on(path, ROWS)
    with closing(sqlite3.connect(path)) as reader:
        write(sink, batch_id(0), [[rows_of([(1, "a")], ROWS)]])
        assert reader.execute("SELECT count(*) FROM results").fetchone() == (1,)
        assert reader.execute("SELECT * FROM millstream_batches").fetchall() == [
            ("checkpoint/query/main", 0)
        ]
