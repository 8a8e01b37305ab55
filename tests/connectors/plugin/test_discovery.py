"""Connectors of other packages are found through the entry-point group `millstream.connectors`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.plugin.installed import install


def millstream(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "millstream.cli", *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_connector_of_another_package_is_listed(tmp_path: Path) -> None:
    env = install(tmp_path)
    done = millstream("connectors", "--json", env=env)
    found: dict[str, Any] = {each["name"]: each for each in json.loads(done.stdout)["connectors"]}
    assert found["counter"]["roles"] == ["source"]
    assert found["tsv"]["delivery"] == "exactly_once"
    shown = millstream("connectors", "counter", env=env).stdout
    assert "counter: Counts up: each file of a folder says how far." in shown
    assert "The difference of two numbers." in shown


def test_a_connector_that_cannot_be_loaded_is_reported_where_it_is_used(tmp_path: Path) -> None:
    env = install(
        tmp_path,
        "[millstream.connectors]\ncounter = millstream_counter.missing:SPEC\n"
        "file = millstream_counter.spec:COUNTER\ntsv = millstream_counter.spec:COUNT\n",
    )
    listed = millstream("connectors", env=env)
    assert listed.returncode == 0
    assert "counter of millstream-counter (millstream_counter.missing:SPEC)" in listed.stderr
    job = tmp_path / "job.sql"
    job.write_text("CREATE SOURCE a (k STRING) WITH ('connector' = 'tsv');")
    done = millstream("explain", str(job), "--json", env=env)
    error = json.loads(done.stdout)["error"]
    assert (error["code"], done.returncode) == ("MS-PROP-VALUE", 2)
    assert "the connector tsv of millstream-counter (millstream_counter.spec:COUNT)" in error["fix"]


@pytest.mark.slow
def test_a_job_runs_with_a_source_and_a_sink_of_another_package(tmp_path: Path) -> None:
    env = install(tmp_path / "site")
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("10")
    job = tmp_path / "job.sql"
    job.write_text(
        """CREATE SOURCE numbers (n BIGINT)
        WITH ('connector' = 'counter', 'path' = 'data', 'step' = '3', 'pin' = 'hidden');
        CREATE SINK out WITH ('connector' = 'tsv', 'path' = 'out') AS
        SELECT n, n * 2 AS twice FROM numbers WHERE n > 0"""
    )
    explained = millstream("explain", str(job), env=env).stdout
    assert "pin = ***" in explained
    assert "hidden" not in explained
    done = millstream("run", str(job), "--once", env=env)
    assert done.returncode == 0, done.stderr
    rows = [
        line for file in (tmp_path / "out").glob("*.tsv") for line in file.read_text().split("\n")
    ]
    assert sorted(filter(None, rows)) == ["3\t6", "6\t12", "9\t18"]
