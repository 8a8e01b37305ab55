"""A job that writes to tables of many kinds and is killed writes every row once."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.connectors.delta.sinks import table_rows as delta_rows
from tests.connectors.iceberg.tables import table_rows as iceberg_rows
from tests.recovery import jobs
from tests.recovery.topics import KILLS

# One query computes the join and writes four sinks; a second one merges by key.
SINKS = """
CREATE STREAM shipped AS {query};
CREATE SINK joined WITH ('connector' = 'delta', 'path' = 'out') AS SELECT * FROM shipped;
CREATE SINK ice WITH ('connector' = 'iceberg', 'table' = 'db.out', 'catalog.type' = 'sql',
  'catalog.uri' = 'sqlite:///cat.db', 'catalog.warehouse' = 'wh') AS SELECT * FROM shipped;
CREATE SINK results WITH ('connector' = 'sqlite', 'path' = 'one.db') AS SELECT * FROM shipped;
CREATE SINK more WITH ('connector' = 'database', 'url' = 'sqlite:///two.db') AS
SELECT * FROM shipped;
CREATE SINK latest WITH ('connector' = 'delta', 'path' = 'latest', 'key.columns' = 'slot') AS
SELECT id % 50 AS slot, max(id) AS last, count(*) AS n FROM orders GROUP BY id % 50
EMIT CHANGES WITH ('state.ttl' = '1d', 'output.mode' = 'upsert');
"""
LATEST = {slot: (slot, jobs.BATCHES * jobs.ROWS - 50 + slot) for slot in range(50)}


def version(path: Path) -> int:
    is_table = DeltaTable.is_deltatable(str(path))
    return DeltaTable(str(path)).version() if is_table else -1


def has_version(path: Path, goal: int) -> bool:
    return version(path) >= goal


def sqlite_rows(path: Path, table: str) -> list[tuple[int, int | None]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT id, shipment FROM {table}").fetchall()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_job_that_is_killed_writes_every_row_once(tmp_path: Path) -> None:
    sources, _, rest = jobs.JOB.partition("CREATE SINK")
    query = rest.partition(" AS\n")[2].strip().rstrip(";")
    jobs.write_project(tmp_path, sources + SINKS.format(query=query))
    step = max(1, jobs.BATCHES // (KILLS + 2))  # versions between two kills
    for kill in range(KILLS):
        process = jobs.start(tmp_path, "--once")
        goal = version(tmp_path / "out") + step
        jobs.wait_for(partial(has_version, tmp_path / "out", goal), process)
        time.sleep(0.05 * (kill % 5))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert version(tmp_path / "out") < jobs.BATCHES

    process = jobs.start(tmp_path, "--once", "--flush")
    out, text = process.communicate(timeout=600)
    assert process.returncode == 0, text
    assert "wrote no rows" not in out
    assert Counter((row[0], row[1]) for row in delta_rows(tmp_path / "out")) == jobs.EXPECTED
    assert Counter(iceberg_rows(tmp_path, "db.out")) == jobs.EXPECTED
    assert Counter(sqlite_rows(tmp_path / "one.db", "results")) == jobs.EXPECTED
    assert Counter(sqlite_rows(tmp_path / "two.db", "more")) == jobs.EXPECTED
    latest = delta_rows(tmp_path / "latest")
    assert {row[0]: tuple(row[:2]) for row in latest} == LATEST
    assert sum(row[2] for row in latest) == jobs.BATCHES * jobs.ROWS
