"""A job that copies the changes of a table and is killed leaves a copy that equals the table."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.connectors.postgresql.sources import drop_slots
from tests.recovery import jobs
from tests.services.postgres import USER, Postgres, postgres

__all__ = ["postgres"]
ROWS = 20_000
JOB = """CREATE SOURCE accounts (id BIGINT, note STRING, amount DECIMAL(12, 2))
WITH ('connector' = 'postgresql', 'url' = '{url}', 'user' = '{user}', 'mode' = 'cdc',
  'max.rows.per.batch' = '2000');
CREATE SINK copied WITH ('connector' = 'postgresql', 'url' = '{url}', 'user' = '{user}',
  'key.columns' = 'id') AS SELECT id, note, amount FROM accounts;
"""
CHANGES = (
    "INSERT INTO accounts SELECT i, 'new', 1 FROM generate_series({0}, {0} + 9) i",
    "UPDATE accounts SET amount = amount + 1, note = 'changed {0}' WHERE id % 499 = {0} % 499",
    "UPDATE accounts SET id = -id WHERE id = {0} - 20000",
    "DELETE FROM accounts WHERE id BETWEEN {0} - 15000 AND {0} - 14997",
)


@contextmanager
def writing(server: Postgres) -> Iterator[None]:
    """Changes the table all the time."""
    stop = threading.Event()

    def write() -> None:
        number = 1_000_000
        with server.connect() as connection:
            while not stop.wait(0.1):
                with connection.transaction():
                    for text in CHANGES:
                        connection.execute(text.format(number - 979_000).encode())
                number += 10

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def has_batches(server: Postgres, goal: int) -> bool:
    return last_batch(server) >= goal


def last_batch(server: Postgres) -> int:
    with server.connect() as connection:
        if connection.execute("SELECT to_regclass('millstream_batches')").fetchone() == (None,):
            return -1
        row = connection.execute("SELECT max(batch) FROM millstream_batches").fetchone()
    return -1 if row is None or row[0] is None else int(row[0])


def has_slot(server: Postgres) -> bool:
    with server.connect() as connection:
        query = "SELECT 1 FROM pg_replication_slots WHERE slot_name LIKE 'millstream_accounts%'"
        return connection.execute(query).fetchone() is not None


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.timeout(900)
def test_a_copy_by_a_job_that_is_killed_equals_the_table(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_slots(postgres)
    postgres.run(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
        "DROP PUBLICATION IF EXISTS millstream_accounts",
        "CREATE TABLE accounts (id bigint PRIMARY KEY, note text, amount numeric(12, 2))",
        "ALTER TABLE accounts REPLICA IDENTITY FULL",
        f"INSERT INTO accounts SELECT i, 'first', i / 7.0 FROM generate_series(1, {ROWS}) i",
    )
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    jobs.write_project(tmp_path, JOB.format(url=postgres.url, user=USER))
    with writing(postgres):
        # Killed while the first rows are read, and between changes.
        for reached in (partial(has_slot, postgres), partial(has_batches, postgres, 3)):
            process = jobs.start(tmp_path)
            jobs.wait_for(reached, process)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert last_batch(postgres) >= 3

    process = jobs.start(tmp_path, "--once")
    _, text = process.communicate(timeout=600)
    assert process.returncode == 0, text
    with postgres.connect() as connection:
        rows = connection.execute("TABLE accounts ORDER BY id").fetchall()
        assert connection.execute("TABLE copied ORDER BY id").fetchall() == rows
    assert len(rows) > ROWS
    assert postgres.password not in text
    drop_slots(postgres)
