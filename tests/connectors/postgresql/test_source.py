"""A table is read once, or by a column; what cannot be read is an error before the job starts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.connectors.postgresql.sources import ENVIRONMENT, SourceTrial, create_orders, drop_slots
from tests.services.postgres import Postgres, postgres

from millstream.connectors.postgresql import table_streams
from millstream.connectors.postgresql.target import Session, Target
from millstream.errors import RunError

__all__ = ["postgres"]
pytestmark = [pytest.mark.service, pytest.mark.timeout(300)]
INCREMENTAL = {"mode": "incremental", "incremental.column": "id"}


@pytest.fixture(autouse=True)
def _orders(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(ENVIRONMENT, postgres.password)
    drop_slots(postgres)
    create_orders(postgres)
    yield
    postgres.run("DROP ROLE IF EXISTS reader")


def test_a_snapshot_reads_every_row_once_as_of_one_time(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_streams, "_PAGES", 4)
    postgres.run("INSERT INTO orders SELECT i, repeat('x', 100) FROM generate_series(1, 600) i")
    trial = SourceTrial(postgres, {"mode": "snapshot"})
    end = trial.next({})
    tasks = trial.stream.partitions({}, end)
    assert len(tasks) > 2
    postgres.run("UPDATE orders SET note = 'moved'", "INSERT INTO orders VALUES (0, 'later')")
    batches = [rows for task in tasks for rows in trial.reader.read(task.item, trial.types)]
    ids = sorted(id_ for rows in batches for id_ in rows["id"].to_pylist())
    assert ids == list(range(1, 601))
    assert {note for rows in batches for note in rows["note"].to_pylist()} == {"x" * 100}
    assert trial.next(end) == end
    trial.stream.stop()


def test_values_of_all_types_are_read_unchanged(postgres: Postgres) -> None:
    postgres.run(
        "CREATE TABLE kinds (b boolean, s smallint, n numeric(10, 2), f float4, d float8, x bytea,"
        " t text, day date, at timestamptz, local timestamp, u uuid, j jsonb)",
        "INSERT INTO kinds VALUES (true, -5, 12.50, 0.1, 1e300, '\\x00ff', 'a,\"b\"\n',"
        " '2026-01-15', '2026-01-15 10:00:00.5+02', '2026-01-15 10:00:00.000001',"
        " '00000000-0000-0000-0000-000000000001', '{\"a\": 1}')",
        "INSERT INTO kinds (b, t) VALUES (NULL, NULL), (false, NULL), (NULL, '')",
    )
    types = {
        "b": pa.bool_(),
        "s": pa.int64(),
        "n": pa.decimal128(12, 3),
        "f": pa.float64(),
        "d": pa.float64(),
        "x": pa.binary(),
        "t": pa.string(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "u": pa.string(),
        "j": pa.string(),
    }
    trial = SourceTrial(postgres, {"mode": "snapshot", "table": "kinds"}, types)
    full, empty, no, text = trial.rows({}, trial.next({}))
    assert full[1:10] == (
        *(True, -5, Decimal("12.500"), 0.1, 1e300, b"\x00\xff", 'a,"b"\n', date(2026, 1, 15)),
        datetime.fromisoformat("2026-01-15T08:00:00.5+00:00"),
    )
    assert full[10:] == (
        datetime.fromisoformat("2026-01-15T10:00:00.000001"),
        "00000000-0000-0000-0000-000000000001",
        '{"a": 1}',
    )
    assert empty[1:] == (None,) * 12
    assert no[1] is False
    assert text[7] == ""
    trial.stream.stop()


@pytest.mark.parametrize(
    "options", [{"mode": "snapshot"}, INCREMENTAL, {"mode": "cdc"}], ids=lambda each: each["mode"]
)
def test_every_type_is_readable_as_string(postgres: Postgres, options: dict[str, str]) -> None:
    values = {
        "n numeric": "NaN",
        "at timestamptz": "infinity",
        "local timestamp": "0044-03-15 10:00:00 BC",
        "day date": "0044-03-15 BC",
        "x bytea": "\\x00ff",
        "b boolean": "t",
        "d float8": "-Infinity",
        "xs int[]": "{1,NULL}",
        "i interval": "1 day",
    }
    row = ", ".join(f"'{value}'" for value in values.values())
    postgres.run(
        "DROP TABLE orders",
        f"CREATE TABLE orders (id bigint PRIMARY KEY, {', '.join(values)})",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        f"INSERT INTO orders VALUES (1, {row})",
    )
    types = dict.fromkeys(("id", *(name.split()[0] for name in values)), pa.string())
    trial = SourceTrial(postgres, options, types)
    end = trial.next({})
    assert trial.rows({}, end) == [("+I", "1", *values.values())]
    if options["mode"] != "snapshot":
        postgres.run(f"INSERT INTO orders VALUES (2, {row})")
        assert trial.rows(end, trial.next(end)) == [("+I", "2", *values.values())]
    trial.close()


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.bool_(), pa.int32(), pa.timestamp("us")])
def test_a_column_of_another_type_is_rejected_before_the_start(
    postgres: Postgres, kind: pa.DataType
) -> None:
    postgres.run("ALTER TABLE orders ADD COLUMN xs int[]")
    for mode in ("snapshot", "cdc"):
        with pytest.raises(RunError, match="column xs is integer") as raised:
            SourceTrial(postgres, {"mode": mode}, {"xs": kind})
        assert raised.value.code == "MS-RUN-POSTGRESQL-TABLE"
        assert raised.value.fix == "Declare xs STRING."


def test_incremental_reads_continue_after_the_greatest_value(postgres: Postgres) -> None:
    postgres.run("INSERT INTO orders SELECT i FROM generate_series(1, 25) i")
    trial = SourceTrial(postgres, INCREMENTAL)
    first, second, third = trial.batches({}, 10)
    assert [row[1] for row in trial.rows(*second)] == list(range(11, 21))
    postgres.run("INSERT INTO orders VALUES (26, NULL)")
    trial.restart()
    # A batch that is run again has the same range.
    assert [row[1] for row in trial.rows(*third)] == list(range(21, 26))
    ((_, last),) = trial.batches(third[1])
    assert trial.rows(third[1], last) == [("+I", 26, None)]
    assert sorted(trial.rows(*first)) == [("+I", number, None) for number in range(1, 11)]
    trial.stream.stop()


def test_incremental_reads_by_time_keep_rows_of_one_time_together(postgres: Postgres) -> None:
    postgres.run(
        "ALTER TABLE orders ADD COLUMN at timestamptz",
        "INSERT INTO orders SELECT i, '', '2026-01-01'::timestamptz + (i / 5) * interval '1 s'"
        " FROM generate_series(0, 19) i",
        "INSERT INTO orders VALUES (99, 'without a time', NULL)",
    )
    trial = SourceTrial(postgres, {"mode": "incremental", "incremental.column": "AT"})
    trial.stream.prepareForTriggerAvailableNow()
    postgres.run("INSERT INTO orders VALUES (100, 'later', '2027-01-01')")
    found = [[row[1] for row in trial.rows(*each)] for each in trial.batches({}, 7)]
    assert found == [list(range(10)), list(range(10, 20))]
    trial.stream.stop()


def failure(postgres: Postgres, **options: str) -> RunError:
    given = {"mode": "cdc"} | {name.replace("_", "."): value for name, value in options.items()}
    with pytest.raises(RunError) as raised:
        SourceTrial(postgres, given)
    assert postgres.password not in str(raised.value)
    return raised.value


def test_tables_and_columns_that_do_not_exist_are_errors(postgres: Postgres) -> None:
    error = failure(postgres, table="order")
    assert error.code == "MS-RUN-POSTGRESQL-TABLE"
    assert "there is no table order" in error.cause
    assert "orders" in (error.fix or "")
    postgres.run("ALTER TABLE orders DROP COLUMN note")
    assert "has no column note" in failure(postgres).cause
    postgres.run("ALTER TABLE orders ADD COLUMN note text")
    assert "no column nr" in failure(postgres, mode="incremental", incremental_column="nr").cause


def test_what_change_data_capture_needs_is_checked_before_the_start(postgres: Postgres) -> None:
    postgres.run("ALTER TABLE orders REPLICA IDENTITY DEFAULT")
    assert 'ALTER TABLE "public"."orders" REPLICA IDENTITY FULL' in (failure(postgres).fix or "")
    postgres.run("ALTER TABLE orders REPLICA IDENTITY FULL", "CREATE PUBLICATION mine")
    assert "ADD TABLE" in (failure(postgres, publication="mine").fix or "")
    postgres.run("ALTER PUBLICATION mine ADD TABLE orders (id)")
    assert "column list" in (failure(postgres, publication="mine").fix or "")
    postgres.run("ALTER PUBLICATION mine SET TABLE orders", "DROP PUBLICATION mine")
    postgres.run("ALTER TABLE orders DROP CONSTRAINT orders_pkey")
    assert "has no primary key" in failure(postgres).cause
    postgres.run("CREATE VIEW seen AS SELECT * FROM orders")
    error = failure(postgres, table="seen")
    assert error.code == "MS-RUN-POSTGRESQL-CDC"
    assert "not an ordinary table" in error.cause


def test_missing_permissions_are_errors(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN PASSWORD 'pw-of-reader'")
    postgres.run("GRANT USAGE ON SCHEMA public TO reader")
    monkeypatch.setenv(ENVIRONMENT, "pw-of-reader")
    error = failure(postgres, user="reader")
    assert (error.code, error.fix) == ("MS-RUN-POSTGRESQL-TABLE", "GRANT SELECT ON orders TO …")
    postgres.run("GRANT SELECT ON orders TO reader")
    error = failure(postgres, user="reader")
    assert error.code == "MS-RUN-POSTGRESQL-CDC"
    assert error.fix.startswith("ALTER ROLE reader REPLICATION; on Amazon RDS: ")
    postgres.run("ALTER ROLE reader REPLICATION")
    error = failure(postgres, user="reader")
    assert 'CREATE PUBLICATION "millstream_orders" FOR TABLE' in (error.fix or "")
    postgres.run("CREATE PUBLICATION millstream_orders FOR TABLE orders")
    trial = SourceTrial(postgres, {"mode": "cdc", "user": "reader"})
    assert trial.rows({}, trial.next({})) == []
    trial.close()
    monkeypatch.setenv(ENVIRONMENT, "wrong-password")
    error = failure(postgres, user="reader")
    assert error.code == "MS-RUN-POSTGRESQL-LOGIN"
    assert "wrong-password" not in str(error)
    postgres.run("DROP OWNED BY reader")


def test_a_server_that_does_not_write_changes_is_an_error(postgres: Postgres) -> None:
    postgres.stop()
    postgres.start({"wal_level": "replica"})
    try:
        error = failure(postgres)
    finally:
        postgres.stop()
        postgres.start()
    assert error.code == "MS-RUN-POSTGRESQL-CDC"
    assert "needs wal_level = logical" in error.cause


def test_a_server_without_free_slots_is_an_error(postgres: Postgres) -> None:
    postgres.stop()
    postgres.start({"max_replication_slots": "1"})
    postgres.run("SELECT pg_create_logical_replication_slot('taken', 'pgoutput')")
    try:
        trial = SourceTrial(postgres, {"mode": "cdc"})
        with pytest.raises(RunError, match="all replication slots are in use") as raised:
            trial.next({})
    finally:
        postgres.run("SELECT pg_drop_replication_slot('taken')")
        postgres.stop()
        postgres.start()
    assert raised.value.code == "MS-RUN-POSTGRESQL-SLOT"


def test_a_server_that_does_not_respond_is_an_error(tmp_path: Path) -> None:
    target = Target("rows", "postgresql://127.0.0.1:1/postgres", "orders", role="source")
    with pytest.raises(
        RunError, match=r"source rows: the database at 127.0.0.1:1 did not"
    ) as raised:
        Session(target).run(lambda _: None, 0)
    assert raised.value.code == "MS-RUN-POSTGRESQL-CONNECT"
    assert not list(tmp_path.iterdir())
