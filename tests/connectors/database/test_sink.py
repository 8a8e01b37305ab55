"""The sink of any database writes what a plain Python table would contain, each batch once."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.database.tables import Database, sink_on
from tests.connectors.sink_batches import batch_id, rows_of, write

from millstream.connectors.database import opening, store
from millstream.connectors.lookup.spec import LookupSpec
from millstream.errors import MillstreamError, RunError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import SinkDef

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])
CHANGES = pa.schema([*ROWS, ("_OP", pa.string())])
changes = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([None, "", "a"]),
        st.sampled_from(["+I", "+U", "-U", "-D"]),
    ),
    max_size=10,
)


def test_every_type_is_stored(database):
    time = dt.datetime(2026, 1, 15, 10, 30, 1, 7, dt.UTC)
    values: dict[str, tuple[pa.DataType, list[Any]]] = {
        "large": (pa.int64(), [-(2**63), None]),
        "Flag": (pa.bool_(), [True, None]),
        "tiny": (pa.int8(), [-128, None]),
        "whole": (pa.int32(), [7, None]),
        "double": (pa.float64(), [1e300, None]),
        'odd "name", ?': (pa.string(), ["", None]),
        "bytes": (pa.binary(), [b"\x00\xff", None]),
        "exact": (pa.decimal128(12, 4), [Decimal("-12345.6789"), None]),
        "day": (pa.date32(), [dt.date(2026, 1, 15), None]),
        "local": (pa.timestamp("us"), [time.replace(tzinfo=None), None]),
        "instant": (pa.timestamp("us", "Europe/Berlin"), [time, None]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in values.items()])
    arrays = [pa.array(items, kind) for kind, items in values.values()]
    sink = sink_on(database, schema)
    write(sink, batch_id(0), [[pa.RecordBatch.from_arrays(arrays, schema=schema)]])
    (first,) = database.run("SELECT * FROM results WHERE large IS NOT NULL")
    expected = [items[0] for _, items in values.values()]
    if database.url.startswith("sqlite"):  # no types for these
        assert first[:7] == tuple(expected[:7])
        assert [str(each) for each in first[8:]] == [
            "2026-01-15",
            "2026-01-15 10:30:01.000007",
            "2026-01-15 10:30:01.000007",
        ]
    else:
        assert list(first) == expected


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6, deadline=None
)
@given(batches=st.lists(changes, min_size=1, max_size=4))
def test_the_last_change_of_each_key_is_in_the_table(database, batches):
    database.run("DROP TABLE IF EXISTS results", "DROP TABLE IF EXISTS millstream_batches")
    sink = sink_on(database, CHANGES, key_columns="ID")
    expected: dict[int, str | None] = {}
    for number, batch in enumerate(batches):
        half = len(batch) // 2
        tasks = [[rows_of(batch[:half], CHANGES)], [rows_of(batch[half:], CHANGES)]]
        write(sink, batch_id(number), tasks)
        for key, note, op in batch:
            expected.pop(key, None)
            if op not in ("-D", "-U"):
                expected[key] = note
        assert database.rows() == sorted(expected.items())


def test_a_repeated_batch_is_not_written_again(database):
    for _ in range(3):  # each is a new run, after a kill before Spark's commit
        write(sink_on(database, ROWS), batch_id(0), [[rows_of([(1, "a"), (1, "a")], ROWS)]])
    write(sink_on(database, ROWS), batch_id(1), [[rows_of([], ROWS)]])
    write(sink_on(database, ROWS), batch_id(0, "x" * 300), [[rows_of([(1, "a")], ROWS)]])
    assert database.rows() == [(1, "a")] * 3
    write(sink_on(database, ROWS), batch_id(5), [[rows_of([(2, "b")], ROWS)]])
    with pytest.raises(RunError, match="MS-RUN-DATABASE-MARKER"):
        sink_on(database, ROWS).begin(batch_id(3))


def test_a_batch_that_fails_writes_nothing(database):
    database.run("CREATE TABLE results (id BIGINT, note TEXT CHECK (note <> 'x'))")
    sink = sink_on(database, ROWS)
    with pytest.raises(RunError, match="MS-RUN-DATABASE-FAILED") as error:
        write(sink, batch_id(0), [[rows_of([(1, "a"), (2, "x")], ROWS)]])
    assert "\n" not in str(error.value)
    assert database.rows() == []
    write(sink, batch_id(0), [[rows_of([(1, "a")], ROWS)]])
    assert database.rows() == [(1, "a")]


@pytest.mark.parametrize(
    ("table", "options", "cause"),
    [
        ("CREATE TABLE other (id INT)", {"create_table": "false"}, "has no table results"),
        ("CREATE TABLE results (id BIGINT)", {}, "has no column note"),
        ("CREATE TABLE results (id BIGINT, note INT)", {}, "column note of results is INT"),
    ],
)
def test_a_table_that_cannot_store_the_rows_is_rejected(database, table, options, cause):
    database.run(table)
    with pytest.raises(MillstreamError, match="MS-RUN-DATABASE-TABLE") as error:
        sink_on(database, ROWS, **options)
    assert cause in error.value.cause


def test_null_in_a_key_stops_the_job(database):
    sink = sink_on(database, ROWS, key_columns="id")
    with pytest.raises(RunError, match=r"MS-RUN-DATABASE-VALUE.*a key column has NULL"):
        write(sink, batch_id(0), [[rows_of([(None, "a")], ROWS)]])


def test_drivers_and_servers_that_are_missing_are_errors_with_a_fix():
    for url in ("mysql+none://h/d", "oracle+oracledb://h/d"):
        with pytest.raises(RunError, match="MS-RUN-DATABASE-DRIVER") as error:
            sink_on(Database(url), ROWS)
        assert "mysql+pymysql://host/database" in error.value.fix
    with pytest.raises(RunError, match="MS-RUN-DATABASE-FAILED"):
        sink_on(Database("postgresql+psycopg://127.0.0.1:1/none"), ROWS)
    with pytest.raises(RunError, match="'url' cannot be read"):
        sink_on(Database("none"), ROWS)


def test_without_sqlalchemy_the_error_says_how_to_install_it(monkeypatch):
    spec = LookupSpec("t", "database", (), ("id",), ("id",), ROWS)
    monkeypatch.setattr(opening, "find_spec", lambda _: None)
    monkeypatch.setattr(store, "find_spec", lambda _: None)
    with pytest.raises(RunError, match="MS-RUN-DATABASE-DRIVER"):
        opening.open_sink(SinkDef("out", "database", ()), Path())
    with pytest.raises(RunError, match=r"millstream\[database\]"):
        store.open_store(spec)


SOURCE = """CREATE SOURCE s (id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t)
WITH ('connector' = 'memory');"""
COUNTS = "SELECT id, COUNT(*) AS n FROM s GROUP BY id EMIT CHANGES WITH ('state.ttl' = '1h')"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CREATE SINK o WITH ('connector' = 'database') AS SELECT id FROM s", "MS-PROP-MISSING"),
        (
            "CREATE SINK o WITH ('connector' = 'database', 'url' = 'mysql://a:pw1@h/d') AS "
            "SELECT id FROM s",
            "MS-PROP-VALUE",
        ),
        (
            "CREATE SINK o WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/d') AS " + COUNTS,
            "MS-PROP-MISSING",
        ),
        (
            "CREATE SINK o WITH ('connector' = 'database', 'url' = 'mysql://h/d', "
            "'key.columns' = 'x') AS SELECT id FROM s",
            "MS-PLAN-UNKNOWN-COLUMN",
        ),
        (
            "CREATE SINK o WITH ('connector' = 'database', 'url' = 'mysql://h/d', "
            "'password.env' = 'A', 'password.file' = 'b') AS SELECT id FROM s",
            "MS-PROP-UNUSED",
        ),
    ],
)
def test_contradictions_and_secrets_are_rejected(sql, code):
    with pytest.raises(MillstreamError) as error:
        build_job(f"{SOURCE} {sql};")
    assert error.value.code == code
    assert "pw1" not in str(error.value)


def test_jdbc_urls_name_the_database():
    sql = (
        "CREATE SINK o WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/d') AS SELECT id FROM s"
    )
    sink = build_job(f"{SOURCE} {sql};").pipelines[0].sink
    assert (sink.connector, sink.option("url"), sink.option("table")) == (
        "database",
        "mysql://h/d",
        "o",
    )
    assert Counter(name for name, _ in sink.options) == Counter(["url", "table"])
