"""Asking SQLite: what is found, by which statement, and what is said when it cannot be."""

from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from tests.connectors.lookup.tables import OnError, find_rows, keys_of, spec_of

from millstream.connectors.lookup import batching
from millstream.connectors.lookup.entries import NUMBER
from millstream.connectors.lookup.lookups import Lookups
from millstream.connectors.lookup.store import check
from millstream.connectors.sqlite.lookup import SqliteStore
from millstream.errors import RunError
from millstream.temporal import MICROS
from millstream.values import Condition

TABLE = """
CREATE TABLE customers (id INTEGER, region TEXT, name TEXT, age INTEGER, active INTEGER);
INSERT INTO customers VALUES
  (1, 'eu', 'Ada', 36, 1), (2, 'eu', NULL, 45, 0), (2, 'us', 'Grace', 85, 1), (3, 'us', 'Ed', 7, 1);
"""


@pytest.fixture
def path(tmp_path) -> Path:
    return made(tmp_path / "shop.db", TABLE)


def made(path: Path, script: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    return path


def lookups_in(path: Path, **settings) -> Lookups:
    options = {"path": str(path)} | settings.pop("options", {})
    return Lookups(spec_of(options=options, **settings))


def text_of_error(call, *arguments) -> str:
    with pytest.raises(RunError) as error:
        call(*arguments)
    return str(error.value)


def test_rows_are_found_by_key(path):
    lookups = lookups_in(path, columns=("name", "age", "active"))
    assert find_rows(lookups, 1, 2, 9) == {
        1: [("Ada", 36, True)],
        2: [("Grace", 85, True), (None, 45, False)],
        9: [],
    }


def test_rows_are_found_by_several_keys(path):
    lookups = lookups_in(path, keys=("region", "id"))
    assert find_rows(lookups, ("us", 2), ("eu", 2), ("us", 1)) == {
        ("us", 2): ["Grace"],
        ("eu", 2): [None],
        ("us", 1): [],
    }


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (Condition("age", ">", (40,)), [None, "Grace"]),
        (Condition("age", "<>", (45,)), ["Ada", "Ed", "Grace"]),
        (Condition("name", "null"), [None]),
        (Condition("name", "not null"), ["Ada", "Ed", "Grace"]),
        (Condition("name", "in", ("Ed", "Ada", "'; --")), ["Ada", "Ed"]),
        (Condition("name", "<", ("B",)), ["Ada"]),
        (Condition("active", "=", (True,)), ["Ada", "Ed", "Grace"]),
    ],
)
def test_conditions_are_decided_by_the_database(path, condition, found):
    lookups = lookups_in(path, conditions=(condition,))
    rows = lookups.find(keys_of(lookups, 1, 2, 3)).rows
    assert sorted(rows["name"].to_list(), key=str) == sorted(found, key=str)
    store = lookups._store
    assert isinstance(store, SqliteStore)
    assert store._query is not None
    assert f't."{condition.column}"' in store._query.statement.split("WHERE")[1]


@pytest.mark.parametrize("keys", [("id",), ("region", "id")])
def test_an_index_is_used(tmp_path, keys):
    path = made(tmp_path / "shop.db", TABLE + f"CREATE INDEX i ON customers ({', '.join(keys)});")
    lookups = lookups_in(path, keys=keys)
    find_rows(lookups, ("eu", 1) if len(keys) == 2 else 1)
    store = lookups._store
    assert isinstance(store, SqliteStore)
    assert store._query is not None
    with sqlite3.connect(path) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {store._query.statement}", ("[]",))
        text = " ".join(row[3] for row in plan)
    columns = " AND ".join(f"{key}=?" for key in keys)
    assert f"SEARCH t USING INDEX i ({columns})" in text


def test_keys_are_equal_byte_by_byte(tmp_path):
    script = "CREATE TABLE customers (id TEXT COLLATE NOCASE, name TEXT COLLATE NOCASE);"
    path = made(tmp_path / "a.db", script + "INSERT INTO customers VALUES ('a', 'x'), ('A', 'X')")
    schema = pa.schema([("id", pa.string()), ("name", pa.string())])
    assert find_rows(lookups_in(path, schema=schema), "a", "A") == {"a": ["x"], "A": ["X"]}
    only = lookups_in(path, schema=schema, conditions=[Condition("name", "=", ("X",))])
    assert find_rows(only, "a", "A") == {"a": [], "A": ["X"]}


HOSTILE = ["'; DROP TABLE customers; --", '"', "\\", "'", "%s", "?", "[1]", "é\u2028😀", "", "\n"]


def test_hostile_keys_are_values(path):
    with sqlite3.connect(path) as connection:
        rows = [(number, key) for number, key in enumerate(HOSTILE)]
        connection.executemany("INSERT INTO customers (age, region) VALUES (?, ?)", rows)
    connection.close()
    lookups = lookups_in(path, keys=("region",), columns=("age",))
    assert find_rows(lookups, *HOSTILE) == {key: [at] for at, key in enumerate(HOSTILE)}
    assert find_rows(lookups, "a\0b", "us") == {"a\0b": [], "us": [7, 85]}


def test_hostile_names_are_names(tmp_path):
    table, column = 'a"; DROP TABLE b; --', 'c"d`%s'
    script = f'CREATE TABLE "{table.replace(chr(34), chr(34) * 2)}" '
    script += f'(id INTEGER, "{column.replace(chr(34), chr(34) * 2)}" TEXT);'
    path = made(tmp_path / "a.db", script)
    schema = pa.schema([("id", pa.int64()), (column, pa.string())])
    lookups = lookups_in(path, schema=schema, columns=(column,), options={"table": table})
    assert find_rows(lookups, 1) == {1: []}


def test_names_may_differ_in_case(tmp_path):
    path = made(tmp_path / "a.db", "CREATE TABLE Customers (ID INTEGER, Name TEXT)")
    assert find_rows(lookups_in(path), 1) == {1: []}


def test_dates_and_booleans_are_keys_too(tmp_path):
    script = "CREATE TABLE customers (day TEXT, active INTEGER, name TEXT);"
    script += "INSERT INTO customers VALUES ('2026-01-15', 1, 'x'), ('2026-01-15', 0, 'y')"
    schema = pa.schema([("day", pa.date32()), ("active", pa.bool_()), ("name", pa.string())])
    path = made(tmp_path / "a.db", script)
    lookups = lookups_in(path, schema=schema, keys=("day", "active"))
    day = dt.date(2026, 1, 15)
    assert find_rows(lookups, (day, True), (day, False)) == {
        (day, True): ["x"],
        (day, False): ["y"],
    }


def test_a_hundred_thousand_keys(tmp_path):
    script = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 2 FROM n WHERE i < 149998)
    INSERT INTO customers SELECT i, 'n' || i FROM n;
    """
    lookups = lookups_in(made(tmp_path / "a.db", script))
    for _ in range(2):
        found = lookups.find(keys_of(lookups, *range(100_000))).rows
        assert found.height == 50_000
        assert (("n" + found[NUMBER].cast(str)) == found["name"]).all()
        assert (found[NUMBER] % 2 == 0).all()
    assert lookups.counts["queries"] == 100
    assert lookups.counts["negative_hits"] == 50_000


def test_nothing_can_be_written(path):
    store = SqliteStore(spec_of(options={"path": str(path)}))
    with store._connections.one() as connection:
        for statement in ("DELETE FROM customers", "CREATE TABLE a (b)"):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute(statement)


def test_a_missing_file_is_an_error_without_retries(tmp_path):
    spec = spec_of(options={"path": str(tmp_path / "no.db")})
    assert text_of_error(check, spec) == (
        f"MS-LOOKUP-CONNECT: cannot connect to the database of table customers: there is no file "
        f"{tmp_path / 'no.db'}. Check 'path'; it is relative to the SQL file."
    )
    assert not (tmp_path / "no.db").exists()


def test_a_file_that_is_not_a_database_is_an_error_without_retries(tmp_path):
    (tmp_path / "a.db").write_text("not a database " * 100)
    assert text_of_error(check, spec_of(options={"path": str(tmp_path / "a.db")})) == (
        "MS-LOOKUP-CONNECT: cannot connect to the database of table customers: file is not a "
        "database. Check the file that 'path' names."
    )


def test_a_missing_table_names_the_nearest(path):
    spec = spec_of(options={"path": str(path), "table": "costumers"})
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TABLE: table customers: the database has no table costumers. "
        "Did you mean customers?"
    )


def test_a_missing_column_names_the_nearest(path):
    schema = pa.schema([("id", pa.int64()), ("nam", pa.string())])
    spec = spec_of(options={"path": str(path)}, schema=schema, columns=("nam",))
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TABLE: table customers: the database has no column nam. Did you mean name?"
    )


def test_a_table_that_fits_passes_the_check(path):
    check(spec_of(options={"path": str(path)}, columns=("name", "age", "active")))


def test_a_type_that_does_not_fit_is_found_by_the_check(path):
    schema = pa.schema([("id", pa.int64()), ("name", pa.int32())])
    spec = spec_of(options={"path": str(path)}, schema=schema)
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TYPE: column name of table customers is declared INT, but the database contains "
        "a string. Write STRING in CREATE TABLE."
    )


def test_a_nested_type_cannot_be_read(path):
    schema = pa.schema([("id", pa.int64()), ("name", pa.list_(pa.string()))])
    spec = spec_of(options={"path": str(path)}, schema=schema)
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TYPE: column name of table customers is declared ARRAY<STRING>, but lookups "
        "support only primitive types. Write STRING in CREATE TABLE."
    )


def test_a_timestamp_cannot_be_a_key(path):
    schema = pa.schema([("id", pa.timestamp("us", "UTC")), ("name", pa.string())])
    assert text_of_error(check, spec_of(options={"path": str(path)}, schema=schema)) == (
        "MS-LOOKUP-TYPE: column id of table customers is TIMESTAMP, a type that cannot be a "
        "lookup key in SQLite. Use a key of integers, strings or dates."
    )


SLOW = """
CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT i AS id, 'x' AS name FROM n;
"""


def test_a_query_that_exceeds_the_timeout_is_cancelled(tmp_path, monkeypatch):
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.0)
    path = made(tmp_path / "a.db", SLOW)
    lookups = lookups_in(
        path,
        options={"table": "slow"},
        timeout=50 * MICROS["ms"],
        retries=1,
        on_error=OnError.SIDE_OUTPUT,
    )
    reason = "the lookup in table customers failed after 2 attempts: no answer within 50ms"
    assert lookups.find(keys_of(lookups, 0)).failed.rows() == [(0, reason)]


def test_a_locked_file_is_retried(path, monkeypatch):
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.0)
    lookups = lookups_in(path, timeout=10 * MICROS["ms"], retries=2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert text_of_error(find_rows, lookups, 1).startswith(
        "MS-LOOKUP-FAILED: the lookup in table customers failed after 3 attempts: "
        "database is locked."
    )
    other.execute("ROLLBACK")
    other.close()
    assert find_rows(lookups, 1) == {1: ["Ada"]}


def test_a_value_of_a_wrong_type_is_an_error_during_the_run(path):
    lookups = lookups_in(path, columns=("age",))
    assert find_rows(lookups, 1) == {1: [36]}
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO customers (id, age) VALUES (4, 'old')")
    connection.close()
    assert text_of_error(find_rows, lookups, 4) == (
        "MS-LOOKUP-TYPE: column age of table customers is declared INT, but the database contains "
        "a string. Write STRING in CREATE TABLE."
    )
