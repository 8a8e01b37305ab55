"""PostgreSQL that is away, hangs, refuses or holds something else: what becomes of a job."""

from __future__ import annotations

import socket
import threading
import time

import pyarrow as pa
import pytest
from tests.connectors.lookup.servers import lookups_on, spec_on
from tests.connectors.lookup.tables import OnError, find_rows, keys_of

from millstream.connectors.lookup import batching
from millstream.connectors.lookup.lookups import Lookups
from millstream.connectors.lookup.store import check
from millstream.errors import RunError
from millstream.temporal import MICROS
from millstream.values import Condition

pytestmark = pytest.mark.service

LOGIN_FIX = " Check 'url', 'user' and the password."


@pytest.fixture
def server(postgres):
    postgres.run(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
        "CREATE TABLE customers (id bigint PRIMARY KEY, name text, age int)",
        "INSERT INTO customers SELECT i, 'n' || i, i FROM generate_series(0, 9999) i",
        "CREATE VIEW slow AS SELECT id, name || pg_sleep(30) AS name FROM customers",
    )
    return postgres


@pytest.fixture
def no_waits(monkeypatch):
    monkeypatch.setattr(batching, "FIRST_WAIT", 0.0)


def text_of_error(call, *arguments) -> str:
    with pytest.raises(RunError) as error:
        call(*arguments)
    return str(error.value)


def test_retries_continue_until_a_killed_server_is_available_again(server):
    """One question hangs in the database when the server dies; the others are not yet asked."""
    server.run(
        "CREATE TABLE gate (open boolean)",
        "INSERT INTO gate VALUES (false)",
        "CREATE FUNCTION gated(bigint) RETURNS text LANGUAGE plpgsql AS $$ BEGIN"
        " IF $1 = 500 AND NOT (SELECT open FROM gate) THEN PERFORM pg_sleep(30); END IF;"
        " RETURN 'n' || $1; END $$",
        "CREATE VIEW behind AS SELECT id, gated(id) AS name FROM customers",
    )
    lookups = lookups_on(
        server, options={"table": "behind"}, batch=100, capacity=2, timeout=60 * MICROS["s"]
    )
    found = []
    asking_thread = threading.Thread(
        target=lambda: found.append(lookups.find(keys_of(lookups, *range(1_000))))
    )
    with server.connect() as watching:
        asking_thread.start()
        text = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        wait_until(lambda: watching.execute(text).fetchall() == [(1,)])
    server.kill()
    time.sleep(0.5)
    assert found == []
    server.start()
    server.run("UPDATE gate SET open = true")
    asking_thread.join(60)
    assert sorted(found[0].rows.rows()) == [(n, f"n{n}") for n in range(1_000)]
    assert lookups.counts["retries"] >= 1


def wait_until(holds) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_connections_of_before_a_restart_are_replaced(server):
    lookups = lookups_on(server, batch=1, cache_rows=0)
    find_rows(lookups, *range(8))
    server.kill()
    server.start()
    assert find_rows(lookups, *range(8)) == {n: [f"n{n}"] for n in range(8)}


def test_a_server_that_stays_away(server, no_waits):
    lookups = lookups_on(server, retries=2, on_error=OnError.SIDE_OUTPUT)
    find_rows(lookups, 1)
    server.kill()
    try:
        found = lookups.find(keys_of(lookups, 1, 2))
        failing = lookups_on(server, retries=2)
        text = text_of_error(find_rows, failing, 1)
        error_text = text_of_error(check, spec_on(server))
    finally:
        server.start()
    (number, reason) = found.failed.rows()[0]
    assert number == 1
    query_rejected = (
        f'connection failed: connection to server at "127.0.0.1", port {server.port} failed:'
        " Connection refused Is the server running on that host and accepting TCP/IP connections"
    )
    assert reason == f"the lookup in table customers failed after 3 attempts: {query_rejected}"
    assert found.rows.rows() == [(0, "n1")]
    assert text.startswith(f"MS-LOOKUP-FAILED: {reason}. Check the database. ")
    assert error_text == (
        f"MS-LOOKUP-CONNECT: cannot connect to the database of table customers: {query_rejected}. "
        "Check 'url' and that the database is running."
    )
    assert find_rows(lookups, 1, 2) == {1: ["n1"], 2: ["n2"]}


@pytest.mark.parametrize("on_error", [OnError.NULL, OnError.SIDE_OUTPUT])
def test_a_query_that_exceeds_the_timeout_is_cancelled(server, no_waits, on_error):
    lookups = lookups_on(
        server,
        options={"table": "slow"},
        timeout=50 * MICROS["ms"],
        retries=1,
        on_error=on_error,
    )
    reason = "the lookup in table customers failed after 2 attempts: no answer within 50ms"
    assert lookups.find(keys_of(lookups, 1, 99_999)).failed.rows() == [(0, reason), (1, reason)]


def test_a_query_that_exceeds_the_timeout_fails_the_job(server, no_waits):
    lookups = lookups_on(server, options={"table": "slow"}, timeout=50 * MICROS["ms"], retries=1)
    assert text_of_error(find_rows, lookups, 1) == (
        "MS-LOOKUP-FAILED: the lookup in table customers failed after 2 attempts: no answer "
        "within 50ms. Check the database. Increase 'lookup.retries' or 'lookup.timeout' to "
        "wait longer, or set 'lookup.on_error' to continue without these rows."
    )


def test_a_server_that_hangs_is_not_waited_for_for_ever(server, no_waits):
    lookups = lookups_on(server, timeout=100 * MICROS["ms"], retries=0, on_error=OnError.NULL)
    find_rows(lookups, 1)
    server.suspend()
    try:
        began = time.monotonic()
        found = lookups.find(keys_of(lookups, 2))
        took = time.monotonic() - began
    finally:
        server.resume()
    reason = "the lookup in table customers failed after 1 attempt: no answer within 100ms"
    assert found.failed.rows() == [(0, reason)]
    assert took < 10
    assert find_rows(lookups, 2) == {2: ["n2"]}


def test_a_server_that_takes_connections_and_says_nothing(no_waits, postgres):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/postgres"
        spec = spec_on(postgres, options={"url": url}, timeout=MICROS["s"], retries=0)
        assert "timeout" in text_of_error(find_rows, Lookups(spec), 1)


def test_a_wrong_password_is_an_error_without_retries_and_never_shown(server):
    spec = spec_on(server, options={"password": "wr0ng-secret"}, on_error=OnError.NULL)
    for call in (lambda: check(spec), lambda: find_rows(Lookups(spec), 1)):
        text = text_of_error(call)
        assert text == (
            "MS-LOOKUP-CONNECT: cannot connect to the database of table customers: password "
            'authentication failed for user "millstream".' + LOGIN_FIX
        )
    assert "wr0ng-secret" not in repr(spec)


def test_the_password_may_come_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", server.password)
    assert find_rows(lookups_on(server, options={"password": ""}), 1) == {1: ["n1"]}


def test_a_table_names_the_variable_or_file_of_its_password(server, monkeypatch, tmp_path):
    monkeypatch.setenv("SHOP_PW", server.password)
    named = {"password": "", "password.env": "SHOP_PW"}
    assert find_rows(lookups_on(server, options=named), 1) == {1: ["n1"]}
    monkeypatch.delenv("SHOP_PW")
    with pytest.raises(RunError, match=r"MS-LOOKUP-CONNECT.*variable SHOP_PW is not set"):
        check(spec_on(server, options=named))
    file = tmp_path / "pw"
    named = {"password": "", "password.file": str(file)}
    with pytest.raises(RunError, match=r"MS-LOOKUP-CONNECT.*the file .*pw: No such file"):
        check(spec_on(server, options=named))
    file.write_text(f"{server.password}\n")
    assert find_rows(lookups_on(server, options=named), 1) == {1: ["n1"]}


def test_the_password_may_come_from_a_file(server, monkeypatch, tmp_path):
    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:*:*:*:{server.password}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert find_rows(lookups_on(server, options={"password": ""}), 1) == {1: ["n1"]}


def test_the_login_may_be_in_the_url(server):
    url = server.url.replace("://", f"://millstream:{server.password}@")
    spec = spec_on(server, options={"url": f"jdbc:{url}", "user": "", "password": ""})
    assert find_rows(Lookups(spec), 1) == {1: ["n1"]}
    assert server.password not in repr(spec)


def test_without_a_password(server):
    assert text_of_error(check, spec_on(server, options={"password": ""})) == (
        "MS-LOOKUP-CONNECT: cannot connect to the database of table customers: connection failed: "
        f'connection to server at "127.0.0.1", port {server.port} failed: '
        "fe_sendauth: no password supplied." + LOGIN_FIX
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("/postgres", "/shop"), 'database "shop" does not exist'),
        (("/postgres", "/postgres?sslmode=require"), "server does not support SSL"),
    ],
)
def test_a_refused_connection_is_an_error_without_retries(server, change, reason):
    text = text_of_error(check, spec_on(server, options={"url": server.url.replace(*change)}))
    assert text.startswith("MS-LOOKUP-CONNECT: cannot connect to the database of table customers: ")
    assert reason in text
    assert text.endswith(LOGIN_FIX)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost/shop",
        "postgresql://me:pass@word@localhost/shop",
        "postgresql://me:pass/word@localhost/shop",
        "postgresql://me:12/word@localhost/shop",
        "postgresql://localhost/shop?pass=word",
        "postgresql://[::1/shop",
    ],
)
def test_a_url_that_cannot_be_read_is_not_shown(postgres, url):
    assert text_of_error(check, spec_on(postgres, options={"url": url})) == (
        "MS-LOOKUP-CONNECT: cannot connect to the database of table customers: its 'url' cannot be "
        "read. Write 'url' = 'postgresql://host:port/database' and set 'user' and 'password'."
    )


def test_a_missing_table_names_the_nearest(server):
    assert text_of_error(check, spec_on(server, options={"table": "costumers"})) == (
        "MS-LOOKUP-TABLE: table customers: the database has no table costumers. "
        "Did you mean customers?"
    )


@pytest.mark.parametrize("table", ["customers; DROP TABLE customers", 'customers" --', "a.b.c", ""])
def test_a_hostile_table_is_a_missing_table(server, table):
    spec = spec_on(server, options={"table": table})
    text = text_of_error(check, spec)
    assert text.startswith(f"MS-LOOKUP-TABLE: table customers: the database has no table {table}.")
    check(spec_on(server))


def test_a_missing_column_names_the_nearest(server):
    schema = pa.schema([("id", pa.int64()), ("nam", pa.string())])
    spec = spec_on(server, schema=schema, columns=("nam",))
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TABLE: table customers: the database has no column nam. Did you mean name?"
    )


def test_a_column_that_may_be_one_of_two(server):
    server.run('ALTER TABLE customers ADD "Name" text')
    schema = pa.schema([("id", pa.int64()), ("NAME", pa.string())])
    spec = spec_on(server, schema=schema, columns=("NAME",))
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TABLE: table customers: column NAME is ambiguous: Name or name. "
        "Write the name in the letter case of the database."
    )


def test_a_table_that_may_not_be_read(server):
    with server.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    spec = spec_on(server, options={"user": "guest", "password": "guest"})
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TABLE: table customers: the database has no table customers. "
        "Check 'table'. Include the schema if it is not in the user's search path."
    )
    server.run("GRANT USAGE ON SCHEMA public TO guest")
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TABLE: the user of the job may not read table customers: "
        "permission denied for table customers. "
        "Grant the permission: GRANT SELECT ON customers TO …"
    )


@pytest.mark.parametrize(
    ("column", "declared", "text"),
    [
        ("text", pa.int32(), "declared INT, but it is text in the database. Write STRING"),
        ("varchar(9)", pa.bool_(), "declared BOOLEAN, but it is character varying(9) in the data"),
        ("int", pa.string(), "declared STRING, but it is integer in the database. Write INT"),
        ("float8", pa.float32(), "but it is double precision in the database. Write DOUBLE in"),
        ("timestamp", pa.timestamp("us", "UTC"), "time zone in the database. Write TIMESTAMP_NTZ"),
        ("timestamptz", pa.timestamp("us"), "with time zone in the database. Write TIMESTAMP in"),
        ("uuid", pa.binary(), "declared BINARY, but it is uuid in the database. Write STRING"),
    ],
)
def test_a_type_that_does_not_fit_is_found_by_the_check(server, column, declared, text):
    server.run(f"CREATE TABLE t (id bigint, v {column})")
    schema = pa.schema([("id", pa.int64()), ("v", declared)])
    spec = spec_on(server, schema=schema, columns=("v",), options={"table": "t"})
    error_text = text_of_error(check, spec)
    assert error_text.startswith("MS-LOOKUP-TYPE: column v of table customers is declared ")
    assert text in error_text


@pytest.mark.parametrize(
    ("column", "value", "declared", "text"),
    [
        ("bigint", "2147483648", pa.int32(), "an integer out of the range of INT. Write BIGINT"),
        (
            "numeric",
            "1.5",
            pa.int64(),
            "a number out of the range of BIGINT. Write a wider DECIMAL",
        ),
        (
            "numeric",
            "1e30",
            pa.int64(),
            "a number out of the range of BIGINT. Write a wider DECIMAL",
        ),
        ("numeric", "1.234", pa.decimal128(9, 2), "a number out of the range of DECIMAL(9, 2)."),
        ("numeric", "'NaN'", pa.decimal128(9, 2), "a number out of the range of DECIMAL(9, 2)."),
        ("bigint", "9007199254740993", pa.float64(), "an integer out of the range of DOUBLE."),
        ("date", "'infinity'", pa.date32(), "a date outside the years 1 to 9999."),
        ("date", "'0001-12-31 BC'", pa.date32(), "a date outside the years 1 to 9999."),
        ("timestamptz", "'-infinity'", pa.timestamp("us", "UTC"), "a timestamp outside the yea"),
        ("timestamp", "'10000-01-01'", pa.timestamp("us"), "a timestamp outside the years 1 t"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(server, column, value, declared, text):
    server.run(f"CREATE TABLE t (id bigint, v {column})", f"INSERT INTO t VALUES (1, {value})")
    schema = pa.schema([("id", pa.int64()), ("v", declared)])
    lookups = lookups_on(
        server, schema=schema, columns=("v",), options={"table": "t"}, on_error=OnError.NULL
    )
    assert find_rows(lookups, 2) == {2: []}
    error_text = text_of_error(find_rows, lookups, 1)
    assert error_text.startswith("MS-LOOKUP-TYPE: column v of table customers is declared ")
    assert f"but the database contains {text}" in error_text


def test_a_condition_of_a_wrong_type(server):
    spec = spec_on(server, conditions=[Condition("age", "=", ("old",))])
    assert text_of_error(check, spec) == (
        "MS-LOOKUP-TYPE: column age of table customers is compared with a string, but it is "
        "integer in the database. Compare it with a value of its own type."
    )
