"""A job that writes to a Delta table and is killed twice writes every row once."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.connectors.delta.sinks import table_rows
from tests.recovery import jobs

SINKS = """
CREATE SINK joined WITH ('connector' = 'delta', 'path' = 'out') AS {query};
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


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_job_killed_twice_writes_every_row_once(tmp_path: Path) -> None:
    sources, _, rest = jobs.JOB.partition("CREATE SINK")
    query = rest.partition(" AS\n")[2].strip().rstrip(";")
    jobs.write_project(tmp_path, sources + SINKS.format(query=query))
    for kill in range(2):
        process = jobs.start(tmp_path, "--once")
        goal = version(tmp_path / "out") + 2
        jobs.wait_for(partial(has_version, tmp_path / "out", goal), process)
        time.sleep(0.05 * kill)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert version(tmp_path / "out") < jobs.BATCHES

    process = jobs.start(tmp_path, "--once", "--flush")
    _, text = process.communicate(timeout=600)
    assert process.returncode == 0, text
    found = [(row[0], row[1]) for row in table_rows(tmp_path / "out")]
    assert Counter(found) == jobs.EXPECTED
    rows = {row[0]: tuple(row[:2]) for row in table_rows(tmp_path / "latest")}
    assert rows == LATEST
    assert sum(row[2] for row in table_rows(tmp_path / "latest")) == jobs.BATCHES * jobs.ROWS
