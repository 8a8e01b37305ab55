"""Errors of a PostgreSQL sink are reported before the job starts, and show no password."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from psycopg import errors
from tests.connectors.postgresql.sinks import ENVIRONMENT, batch_id, prepare, sink_on, write

from millstream.connectors.postgresql.sink_opener import open_sink
from millstream.connectors.postgresql.target import Target
from millstream.errors import RunError
from millstream.plan.nodes import SinkDef

pytestmark = pytest.mark.service
ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])


@pytest.fixture
def server(postgres):
    postgres.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return postgres


@pytest.mark.parametrize(
    ("table", "options", "cause"),
    [
        ("", {"create_table": "false"}, "the database has no table results"),
        ("id bigint", {}, "the table results has no column note"),
        ("id int, note text", {}, "column id of results is integer, which cannot store"),
        ("id numeric(9,2), note text", {}, "column id of results is numeric(9,2)"),
        ("id bigint, note text", {"key_columns": "id"}, "no primary key or unique index of (id)"),
        ("id bigint, note text, more int NOT NULL", {}, "column more of results is NOT NULL"),
        (
            "id bigint, note text GENERATED ALWAYS AS (id::int::char) STORED",
            {},
            "column note of results is generated",
        ),
    ],
)
def test_a_table_that_cannot_store_the_rows_is_rejected(server, monkeypatch, table, options, cause):
    if table:
        server.run(f"CREATE TABLE results ({table})".replace("id::int::char", "'a'"))
    with pytest.raises(RunError) as error:
        prepare(sink_on(server, monkeypatch, **options), ROWS)
    assert error.value.code == "MS-RUN-POSTGRESQL-TABLE"
    assert cause in error.value.cause
    assert error.value.fix


def test_a_wrong_password_is_reported_and_not_shown(server, monkeypatch):
    sink = sink_on(server, monkeypatch)
    monkeypatch.setenv(ENVIRONMENT, "a wrong one")
    with pytest.raises(RunError) as error:
        prepare(sink, ROWS)
    assert error.value.code == "MS-RUN-POSTGRESQL-LOGIN"
    assert "password authentication failed" in error.value.cause
    assert "a wrong one" not in str(error.value)
    assert server.password not in repr(sink)
    monkeypatch.delenv(ENVIRONMENT)
    with pytest.raises(RunError, match=f"the environment variable {ENVIRONMENT} is not set"):
        prepare(sink, ROWS)


def test_a_password_is_read_from_a_file(server, monkeypatch, tmp_path):
    (tmp_path / "password").write_text(server.password + "\n")
    file = str(tmp_path / "password")
    prepare(sink_on(server, monkeypatch, password_env="", password_file=file), ROWS)
    with pytest.raises(RunError, match="No such file"):
        prepare(sink_on(server, monkeypatch, password_env="", password_file=file + "x"), ROWS)


def test_a_server_that_does_not_run_is_reported(server, monkeypatch):
    url = "postgresql://127.0.0.1:1/postgres"
    sink = sink_on(server, monkeypatch, url=url, connect_timeout="1s")
    with pytest.raises(RunError) as error:
        prepare(sink, ROWS)
    assert error.value.code == "MS-RUN-POSTGRESQL-CONNECT"
    assert "the database at 127.0.0.1:1 did not respond for 1s" in error.value.cause


@pytest.mark.parametrize(
    ("table", "row", "cause"),
    [
        ("id bigint PRIMARY KEY, note text", (1, "a"), "duplicate key value"),
        ("id bigint, note varchar(2)", (2, "abc"), "value too long"),
        ("id bigint, note text", (2, "\0"), "invalid byte sequence"),
        ("id bigint, note text NOT NULL", (2, None), "null value in column"),
    ],
)
def test_a_value_that_the_database_rejects_is_reported(server, monkeypatch, table, row, cause):
    server.run(f"CREATE TABLE results ({table})", "INSERT INTO results VALUES (1, 'a')")
    sink = sink_on(server, monkeypatch)
    prepare(sink, ROWS)
    arrays = [pa.array([row[0]], pa.int64()), pa.array([row[1]], pa.string())]
    with pytest.raises(RunError) as error:
        write(sink, batch_id(0), [[pa.RecordBatch.from_arrays(arrays, schema=ROWS)]])
    assert error.value.code == "MS-RUN-POSTGRESQL-VALUE"
    assert cause in error.value.cause
    assert ("chr(0)" in error.value.fix) == (row[1] == "\0")


def test_a_rejected_value_of_a_source_has_the_fix_of_a_source():
    target = Target("orders", "postgresql://db/shop", "public.orders", role="source")
    assert str(target.translate(errors.NumericValueOutOfRange("out of range"))) == (
        "MS-RUN-POSTGRESQL-VALUE: source orders: the database rejects a value of public.orders: "
        "out of range. Correct the row, or declare the column STRING."
    )


def test_a_missing_driver_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "millstream.connectors.postgresql.sink", None)
    with pytest.raises(RunError) as error:
        open_sink(SinkDef("out", "postgresql"), Path())
    assert error.value.code == "MS-RUN-POSTGRESQL-DRIVER"
