"""A run that is killed counts as failed, leaves the output as it was, and can be repeated."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import NEW_RATES, MonthEnd

from millstream.catalog.model import RunStatus
from millstream.errors import CatalogError

ROOT = Path(__file__).parents[3]
LEASE = 4.0


def test_a_killed_run_leaves_the_old_output_and_can_be_repeated(
    spark: SparkSession, month_end: MonthEnd, tmp_path: Path
) -> None:
    month_end.apply()
    runner = month_end.runner(spark)
    runner.activate("month-end")
    runner.run("month-end", "2026-01")
    before = month_end.output()
    month_end.publish("fx", NEW_RATES)

    kill_in_mid_run(tmp_path)

    assert month_end.output() == before
    assert len(list((tmp_path / "out").glob(".2026-01.run-*"))) == 1
    with pytest.raises(CatalogError, match="MS-CATALOG-RUNNING"):
        runner.run("month-end", "2026-01")
    until_expired(month_end)
    again = runner.run("month-end", "2026-01")
    assert again.status is RunStatus.SUCCEEDED
    assert [row[5] for row in month_end.output()] == [row[5] * 2 for row in before]
    assert list((tmp_path / "out").glob(".*")) == []
    killed = month_end.catalog.reader.runs()[1]
    assert killed.status is RunStatus.FAILED
    assert killed.failure is not None
    assert killed.failure.code == "MS-CATALOG-LEASE"
    assert killed.snapshot is not None


def kill_in_mid_run(folder: Path) -> None:
    ready = folder / "ready"
    arguments = [str(folder / "catalog.db"), str(folder), str(LEASE), str(ready)]
    command = [sys.executable, "-m", "tests.catalog.execution.killed_run", *arguments]
    with subprocess.Popen(command, cwd=ROOT) as process:
        while not ready.exists():
            assert process.poll() is None, "the run ended by itself"
            time.sleep(0.05)
        process.kill()


def until_expired(month_end: MonthEnd) -> None:
    deadline = time.monotonic() + 60
    while not month_end.catalog.writer.expire_runs():
        assert time.monotonic() < deadline
        time.sleep(0.1)
