"""The PostgreSQL sink writes what a plain Python table would contain, each batch once."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.postgresql.sinks import batch_id, prepare, sink_on, table_rows, write

from millstream.errors import RunError

pytestmark = pytest.mark.service
ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])
CHANGES = pa.schema([*ROWS, ("_OP", pa.string())])
texts = st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
changes = st.lists(
    st.tuples(
        st.integers(0, 4), st.sampled_from([None, "", "a"]), st.sampled_from(["+I", "+U", "-D"])
    ),
    max_size=12,
)
random_rows = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6)


@pytest.fixture
def server(postgres):
    postgres.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return postgres


def rows_of(rows, schema=ROWS) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@random_rows
@given(rows=st.lists(st.tuples(st.none() | st.integers(-5, 5), texts), max_size=8), staged=...)
def test_appended_rows_are_read_back_unchanged(
    server, monkeypatch, rows: list[tuple[int, str]], staged: bool
):
    server.run("DROP TABLE IF EXISTS results", "DROP TABLE IF EXISTS millstream_batches")
    sink = sink_on(server, monkeypatch)
    prepare(sink, ROWS)
    write(sink, batch_id(0), [[rows_of(rows[:3])], [rows_of(rows[3:])]], staged=staged)
    assert Counter(table_rows(server)) == Counter(rows)


def test_every_type_is_read_back_unchanged(server, monkeypatch):
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
        'odd "name", %s': (pa.string(), ["", None]),
        "bytes": (pa.binary(), [b"\x00\xff", b""]),
        "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "local": (pa.timestamp("us"), [time.replace(tzinfo=None), None]),
        "instant": (pa.timestamp("us", "Europe/Berlin"), [time, None]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in values.items()])
    sink = sink_on(server, monkeypatch)
    prepare(sink, schema)
    arrays = [pa.array(items, kind) for kind, items in values.values()]
    rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
    write(sink, batch_id(0), [[rows]])
    write(sink, batch_id(1), [[rows]], staged=True)
    expected = list(zip(*(items for _, items in values.values()), strict=True))
    assert Counter(table_rows(server)) == Counter(expected * 2)


@random_rows
@given(batches=st.lists(changes, min_size=1, max_size=4), staged=st.booleans())
def test_the_last_change_of_each_key_is_in_the_table(server, monkeypatch, batches, staged):
    server.run("DROP TABLE IF EXISTS results", "DROP TABLE IF EXISTS millstream_batches")
    sink = sink_on(server, monkeypatch, key_columns="ID")
    prepare(sink, CHANGES)
    expected: dict[int, tuple[int, str | None]] = {}
    for number, batch in enumerate(batches):
        half = len(batch) // 2
        tasks = [[rows_of(batch[:half], CHANGES)], [rows_of(batch[half:], CHANGES)]]
        write(sink, batch_id(number), tasks, staged=staged)
        for key, note, op in batch:
            expected.pop(key, None)
            if op != "-D":
                expected[key] = key, note
        assert {row[0]: row for row in table_rows(server)} == expected
        assert len(table_rows(server)) == len(expected)


@random_rows
@given(batches=st.lists(changes, min_size=1, max_size=4), staged=st.booleans())
def test_a_changelog_without_a_key_withdraws_equal_rows_one_by_one(
    server, monkeypatch, batches, staged
):
    server.run("DROP TABLE IF EXISTS results", "DROP TABLE IF EXISTS millstream_batches")
    sink = sink_on(server, monkeypatch)
    prepare(sink, CHANGES)
    expected: Counter[tuple[int, str | None]] = Counter()
    for number, batch in enumerate(batches):
        applied = []
        for key, note, op in batch:
            if op == "-D" and not expected[key, note]:
                continue  # a changelog withdraws only rows that it has added
            expected[key, note] += -1 if op == "-D" else 1
            applied.append((key, note, op))
        half = len(applied) // 2
        tasks = [[rows_of(applied[:half], CHANGES)], [rows_of(applied[half:], CHANGES)]]
        write(sink, batch_id(number), tasks, staged=staged)
        assert Counter(table_rows(server)) == +expected


def test_an_old_value_before_its_new_one_is_an_update(server, monkeypatch):
    sink = sink_on(server, monkeypatch, key_columns="id")
    prepare(sink, CHANGES)
    write(sink, batch_id(0), [[rows_of([(1, "a", "+I"), (2, "b", "+I")], CHANGES)]])
    write(sink, batch_id(1), [[rows_of([(1, "a", "-U"), (1, "c", "+U"), (2, "b", "-D")], CHANGES)]])
    assert table_rows(server) == [(1, "c")]


@pytest.mark.parametrize("staged", [False, True])
def test_a_repeated_batch_is_not_written_again(server, monkeypatch, staged):
    for _ in range(3):  # each is a new run, after a kill before Spark's commit
        sink = sink_on(server, monkeypatch)
        prepare(sink, ROWS)
        write(sink, batch_id(0), [[rows_of([(1, "a"), (1, "a")])]], staged=staged)
    assert table_rows(server) == [(1, "a"), (1, "a")]
    other = sink_on(server, monkeypatch)
    prepare(other, ROWS)
    write(other, batch_id(0, "another checkpoint"), [[rows_of([(1, "a")])]])
    assert len(table_rows(server)) == 3


@pytest.mark.parametrize("staged", [False, True])
def test_a_batch_killed_before_its_commit_leaves_nothing(server, monkeypatch, staged):
    def kill():
        raise KeyboardInterrupt

    sink = sink_on(server, monkeypatch)
    prepare(sink, ROWS)
    with pytest.raises(KeyboardInterrupt):
        write(sink, batch_id(0), [[rows_of([(1, "a")])]], staged=staged, before_commit=kill)
    assert table_rows(server) == []
    sink = sink_on(server, monkeypatch)
    prepare(sink, ROWS)
    write(sink, batch_id(0), [[rows_of([(1, "b")])]])
    assert table_rows(server) == [(1, "b")]
    with server.connect() as connection:
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
    assert found == [("millstream_batches",), ("results",)]


@pytest.mark.parametrize("staged", [False, True])
def test_the_sink_waits_for_a_server_that_restarts(server, monkeypatch, staged):
    sink = sink_on(server, monkeypatch, key_columns="id")
    prepare(sink, ROWS)
    write(sink, batch_id(0), [[rows_of([(1, "a")])]])
    server.stop()
    server.start()

    def restart():
        server.stop()
        server.start()

    rows = [rows_of([(1, "b"), (2, "c")])]
    write(sink, batch_id(1), [rows], staged=staged, before_commit=restart)
    assert table_rows(server) == [(1, "b"), (2, "c")]


def test_a_crash_of_the_server_before_the_commit_is_reported_if_rows_are_lost(server, monkeypatch):
    sink = sink_on(server, monkeypatch)
    prepare(sink, ROWS)

    def crash():
        server.kill()
        server.start()

    with pytest.raises(RunError) as error:
        write(sink, batch_id(0), [[rows_of([(1, "a")])]], staged=True, before_commit=crash)
    assert error.value.code == "MS-RUN-POSTGRESQL-LOST"
    again = sink_on(server, monkeypatch)
    prepare(again, ROWS)
    write(again, batch_id(0), [[rows_of([(1, "a")])]], staged=True)
    assert table_rows(server) == [(1, "a")]


def test_a_database_without_the_markers_of_the_checkpoint_is_rejected(server, monkeypatch):
    sink = sink_on(server, monkeypatch)
    prepare(sink, ROWS)
    with pytest.raises(RunError, match="whether batch 7 was written is unknown") as error:
        sink.begin(batch_id(7))
    assert error.value.code == "MS-RUN-POSTGRESQL-MARKER"
    write(sink, batch_id(0), [])
    write(sink, batch_id(1), [])
    again = sink_on(server, monkeypatch)
    prepare(again, ROWS)
    with pytest.raises(RunError, match="the checkpoint is older than the table"):
        again.begin(batch_id(0))
