"""A job that writes to PostgreSQL and is killed twice writes every row once."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from tests.recovery import jobs
from tests.services.postgres import USER, Postgres, postgres

__all__ = ["postgres"]
SINK = """CREATE SINK joined WITH ('connector' = 'postgresql', 'url' = '{url}', 'user' = '{user}')
AS SELECT o.id"""


def rows(server: Postgres) -> Counter[tuple[int, int | None]]:
    with server.connect() as connection:
        return Counter(connection.execute("SELECT id, shipment FROM joined").fetchall())


def batches(server: Postgres) -> int:
    with server.connect() as connection:
        row = connection.execute(
            "SELECT coalesce(max(batch), -1) FROM millstream_batches"
            if connection.execute("SELECT to_regclass('millstream_batches')").fetchone() != (None,)
            else "SELECT -1"
        ).fetchone()
    return int(row[0]) if row else -1


def has_batches(server: Postgres, goal: int) -> bool:
    return batches(server) >= goal


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.timeout(1500)
def test_a_job_killed_twice_while_its_database_restarts_writes_every_row_once(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    _, _, rest = jobs.JOB.partition("CREATE SINK")
    sink = SINK.format(url=postgres.url, user=USER)
    job = jobs.JOB[: -len("CREATE SINK" + rest)] + sink + rest[rest.index(", s.id") :]
    jobs.write_project(tmp_path, job)
    for kill in range(2):
        process = jobs.start(tmp_path, "--once")
        jobs.wait_for(partial(has_batches, postgres, batches(postgres) + 2), process)
        time.sleep(0.1 * kill)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert 0 < batches(postgres) < jobs.BATCHES

    process = jobs.start(tmp_path, "--once", "--flush")
    jobs.wait_for(partial(has_batches, postgres, batches(postgres) + 1), process)
    postgres.stop()
    time.sleep(1)
    postgres.start()
    _, text = process.communicate(timeout=600)
    assert process.returncode == 0, text
    assert rows(postgres) == jobs.EXPECTED
    assert postgres.password not in text
