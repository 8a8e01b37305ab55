"""Asking PostgreSQL: what is found, and by which statement."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.connectors.lookup.servers import ask_plan, lookups_on, spec_on
from tests.connectors.lookup.tables import find_rows, keys_of

from millstream.connectors.lookup.entries import NUMBER
from millstream.connectors.lookup.lookups import get_lookups
from millstream.connectors.lookup.store import check
from millstream.connectors.postgresql.store import PostgresStore
from millstream.errors import RunError
from millstream.values import Condition

pytestmark = pytest.mark.service

TABLE = """
CREATE TABLE customers (
  id bigint, region varchar(2), name text, age int, active boolean, PRIMARY KEY (id, region));
INSERT INTO customers VALUES
  (1, 'eu', 'Ada', 36, true), (2, 'eu', NULL, 45, false),
  (2, 'us', 'Grace', 85, true), (3, 'us', 'Ed', 7, true);
"""


@pytest.fixture
def server(postgres):
    postgres.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public", TABLE)
    return postgres


def test_rows_are_found_by_key(server):
    lookups = lookups_on(server, columns=("name", "age", "active", "id"))
    for _ in range(2):
        assert find_rows(lookups, 1, 2, 9) == {
            1: [("Ada", 36, True, 1)],
            2: [("Grace", 85, True, 2), (None, 45, False, 2)],
            9: [],
        }
    assert lookups.counts["queries"] == 1


def test_rows_are_found_by_several_keys(server):
    lookups = lookups_on(server, keys=("region", "id"))
    assert find_rows(lookups, ("us", 2), ("eu", 2), ("us", 1)) == {
        ("us", 2): ["Grace"],
        ("eu", 2): [None],
        ("us", 1): [],
    }


@pytest.mark.parametrize("keys", [("id",), ("id", "region")])
def test_an_index_is_used(server, keys):
    lookups = lookups_on(server, keys=keys)
    found = ask_plan(lookups, (1, "eu") if len(keys) == 2 else 1)
    assert "customers_pkey" in found


@pytest.mark.parametrize(
    ("condition", "found", "filter_text"),
    [
        (Condition("age", ">", (40,)), [None, "Grace"], "(age > '40'::smallint)"),
        (Condition("age", "<>", (45,)), ["Ada", "Ed", "Grace"], "(age <> '45'::smallint)"),
        (Condition("age", "in", (7, 36)), ["Ada", "Ed"], "(age = ANY ('{7,36}'::smallint[]))"),
        (Condition("name", "null"), [None], "(name IS NULL)"),
        (Condition("name", "not null"), ["Ada", "Ed", "Grace"], "(name IS NOT NULL)"),
        (Condition("name", "in", ("Ed", "'; --")), ["Ed"], "(name = ANY ('{Ed,\"'; --\"}'::text[]"),
        (Condition("name", "<", ("B",)), ["Ada"], "< 'B'::text)"),
        (Condition("active", "=", (True,)), ["Ada", "Ed", "Grace"], "active"),
    ],
)
def test_conditions_are_decided_by_the_database(server, condition, found, filter_text):
    lookups = lookups_on(server, conditions=(condition,))
    rows = lookups.find(keys_of(lookups, 1, 2, 3)).rows
    assert sorted(rows["name"].to_list(), key=str) == sorted(found, key=str)
    plan = json.loads(ask_plan(lookups, 1, 2, 3))[0]["Plan"]
    assert filter_text.replace("''", "'") in plan["Filter"].replace("''", "'")


HOSTILE = [
    "'; DROP TABLE customers; --",
    '"',
    "\\",
    "'",
    "%s",
    "$1",
    "{a,b}",
    "é\u2028😀",
    "",
    "\n",
]


def test_hostile_keys_are_values(server):
    with server.connect() as connection:
        connection.execute("CREATE TABLE odd (id text, name int)")
        with connection.cursor() as cursor:
            rows = [(key, number) for number, key in enumerate(HOSTILE)]
            cursor.executemany("INSERT INTO odd VALUES (%s, %s)", rows)
    schema = pa.schema([("id", pa.string()), ("name", pa.int32())])
    lookups = lookups_on(server, schema=schema, options={"table": "odd"})
    expected = {key: [at] for at, key in enumerate(HOSTILE)}
    # PostgreSQL cannot hold the last one.
    assert find_rows(lookups, *HOSTILE, "a\0b") == expected | {"a\0b": []}


def test_hostile_names_are_names(server):
    table, column = 'a"; DROP TABLE customers; --', "c\"d`%s %(x)s {}'"
    names = [name.replace('"', '""') for name in (table, column)]
    server.run('CREATE TABLE "{}" (id bigint, "{}" text)'.format(*names))
    schema = pa.schema([("id", pa.int64()), (column, pa.string())])
    options = {"table": f'"{names[0]}"'}
    condition = Condition(column, "<>", ("%s",))
    lookups = lookups_on(
        server, schema=schema, columns=(column,), options=options, conditions=[condition]
    )
    assert find_rows(lookups, 1) == {1: []}
    assert find_rows(lookups_on(server), 1) == {1: ["Ada"]}


def test_names_may_differ_in_case_and_name_a_schema(server):
    server.run(
        'DROP SCHEMA IF EXISTS crm CASCADE; CREATE SCHEMA crm; CREATE TABLE crm.people ("Id" int,'
        " NAME text); INSERT INTO crm.people VALUES (1, 'Ada')"
    )
    lookups = lookups_on(server, options={"table": "CRM.People"})
    assert find_rows(lookups, 1) == {1: ["Ada"]}


TYPES = [
    # the column's type, a value of it, the declared type, the value as Spark has it
    ("boolean", "true", pa.bool_(), True),
    ("smallint", "-5", pa.int8(), -5),
    ("int", "2147483647", pa.int64(), 2**31 - 1),
    ("bigint", "-9223372036854775808", pa.int64(), -(2**63)),
    ("numeric", "5.000", pa.int32(), 5),
    ("numeric(10, 2)", "12.30", pa.decimal128(12, 3), Decimal("12.300")),
    ("int", "7", pa.decimal128(10, 2), Decimal("7.00")),
    ("numeric", "0.1", pa.float64(), 0.1),
    ("real", "0.5", pa.float32(), 0.5),
    ("real", "0.5", pa.float64(), 0.5),
    ("double precision", "'NaN'", pa.float64(), float("nan")),
    ("double precision", "0.1", pa.float64(), 0.1),
    ("int", "3", pa.float64(), 3.0),
    ("text", "'é'", pa.string(), "é"),
    ("varchar(5)", "'ab '", pa.string(), "ab "),
    ("char(5)", "'ab'", pa.string(), "ab"),
    (
        "uuid",
        "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
        pa.string(),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("mood", "'happy'", pa.string(), "happy"),
    ("email", "'a@b.c'", pa.string(), "a@b.c"),
    ("jsonb", """'{"a": [1]}'""", pa.string(), '{"a": [1]}'),
    ("interval", "'90 minutes'", pa.string(), "01:30:00"),
    ("bytea", r"'\x00ff'", pa.binary(), b"\0\xff"),
    ("date", "'0001-01-01'", pa.date32(), dt.date(1, 1, 1)),
    ("date", "'1969-12-31'", pa.date32(), dt.date(1969, 12, 31)),
    (
        "timestamptz",
        "'9999-12-31 23:59:59.999999+00'",
        pa.timestamp("us", "UTC"),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, dt.UTC),
    ),
    (
        "timestamptz",
        "'2026-01-15 10:30:00.25+02'",
        pa.timestamp("us", "UTC"),
        dt.datetime(2026, 1, 15, 8, 30, 0, 250_000, dt.UTC),
    ),
    (
        "timestamp",
        "'0001-01-01 00:00:00'",
        pa.timestamp("us"),
        dt.datetime(1, 1, 1),  # noqa: DTZ001
    ),
]


def same(found, expected) -> bool:
    """The rows of the one key, in any order; NaN is NaN."""
    (rows,) = found.values()
    return len(rows) == len(expected) and all(
        any(row == value or (row is not None and row != row and value != value) for row in rows)  # noqa: PLR0124
        for value in expected
    )


@pytest.mark.parametrize(("column", "value", "declared", "expected"), TYPES)
def test_every_type_is_a_value_and_a_key(server, column, value, declared, expected):
    server.run("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN email AS text")
    server.run(f"CREATE TABLE t (k {column}, v {column})")
    server.run(f"INSERT INTO t VALUES ({value}, {value}), ({value}, NULL)")
    schema = pa.schema([("k", declared), ("v", declared)])
    settings = {"schema": schema, "columns": ("v",), "options": {"table": "t"}}
    check(spec_on(server, keys=("k",), **settings))
    for _ in range(2):
        lookups = lookups_on(server, keys=("k",), **settings)
        assert same(find_rows(lookups, expected), [expected, None])
    lookups = lookups_on(server, keys=("k", "v"), **settings)
    assert same(find_rows(lookups, (expected, expected)), [expected])


def test_keys_that_cannot_be_uuids_are_absent(server):
    known = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    server.run("CREATE TABLE t (k uuid PRIMARY KEY, name text)")
    server.run(f"INSERT INTO t VALUES ('{known}', 'x')")
    schema = pa.schema([("k", pa.string()), ("name", pa.string())])
    lookups = lookups_on(server, keys=("k",), schema=schema, options={"table": "t"})
    found = find_rows(lookups, "no uuid", known, known.upper())
    assert found == {"no uuid": [], known: ["x"], known.upper(): []}


def test_keys_are_equal_byte_by_byte(server):
    server.run("CREATE TABLE t (k char(5), name char(3))")
    server.run("INSERT INTO t VALUES ('ab', 'x'), ('AB', 'y')")
    schema = pa.schema([("k", pa.string()), ("name", pa.string())])
    condition = Condition("name", "in", ("x", "y"))
    lookups = lookups_on(
        server, keys=("k",), schema=schema, options={"table": "t"}, conditions=[condition]
    )
    assert find_rows(lookups, "ab", "ab ", "AB", "aB") == {
        "ab": ["x"],
        "ab ": [],
        "AB": ["y"],
        "aB": [],
    }


def test_keys_that_the_databases_encoding_lacks_are_absent(server):
    server.run("DROP DATABASE IF EXISTS old")
    server.run("CREATE DATABASE old ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
    with server.connect(dbname="old") as connection:
        connection.execute("CREATE TABLE customers AS SELECT 'é' AS id, 'ü' AS name")
    url = server.url.replace("/postgres", "/old")
    schema = pa.schema([("id", pa.string()), ("name", pa.string())])
    lookups = lookups_on(server, schema=schema, options={"url": url})
    assert find_rows(lookups, "a", "€", "é", "b", "😀") == {
        "a": [],
        "€": [],
        "é": ["ü"],
        "b": [],
        "😀": [],
    }


def test_a_hundred_thousand_keys(server):
    server.run(
        "CREATE TABLE many AS SELECT i::bigint AS id, 'n' || i AS name"
        " FROM generate_series(0, 149998, 2) i",
        "ALTER TABLE many ADD PRIMARY KEY (id)",
    )
    lookups = lookups_on(server, options={"table": "many"})
    for _ in range(2):
        found = lookups.find(keys_of(lookups, *range(100_000))).rows
        assert found.height == 50_000
        assert (("n" + found[NUMBER].cast(str)) == found["name"]).all()
        assert (found[NUMBER] % 2 == 0).all()
    assert lookups.counts["queries"] == 100
    assert lookups.counts["negative_hits"] == 50_000


def test_a_table_that_was_altered_is_read_as_it_is_now(server):
    lookups = lookups_on(server, cache_rows=0, columns=("age",))
    for _ in range(8):  # as often as it takes until the statement is prepared
        find_rows(lookups, 1)
    server.run("ALTER TABLE customers ALTER age TYPE numeric, ADD more text")
    assert find_rows(lookups, 1) == {1: [36]}


def test_connections_are_read_only(server):
    server.run(
        "CREATE TABLE seen (id bigint)",
        "CREATE FUNCTION spy(bigint) RETURNS text VOLATILE LANGUAGE sql AS"
        " 'INSERT INTO seen VALUES ($1) RETURNING id::text'",
        "CREATE VIEW spied AS SELECT id, spy(id) AS name FROM customers",
    )
    with pytest.raises(RunError) as error:
        find_rows(lookups_on(server, options={"table": "spied"}), 1)
    assert str(error.value) == (
        "MS-LOOKUP-TABLE: the database rejected a query of table customers: cannot execute "
        "INSERT in a read-only transaction. "
        "Check spied in the database; if it is a view, check the query of the view."
    )


def test_texts_are_ordered_by_their_bytes(server):
    """Whatever the database's own order is."""
    lookups = lookups_on(server, conditions=[Condition("name", "<", ("B",))])
    store = lookups._store
    assert isinstance(store, PostgresStore)
    assert '"name" COLLATE "C" < %s' in store._prepare().statement.as_string()


def test_lookups_are_one_a_process_and_spec(server):
    spec = spec_on(server)
    assert get_lookups(spec) is get_lookups(spec_on(server))
    assert get_lookups(spec) is not get_lookups(spec_on(server, retries=1))
    find_rows(get_lookups(spec), 1)
    assert get_lookups(spec).counts["requested"] == 1
    get_lookups(spec).close()
