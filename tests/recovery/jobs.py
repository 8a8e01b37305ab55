"""A job whose processes are killed: inputs, its command, its output and what that must be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

BATCHES = 12
ROWS = 100
_START = datetime(2026, 1, 15, tzinfo=UTC)
_SECONDS = 240.0  # a busy machine takes its time
JOB = """
CREATE SOURCE orders (id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = 'orders', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE SOURCE shipments (id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = 'shipments', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE SINK joined WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT o.id, s.id AS shipment FROM orders o LEFT JOIN shipments s
  ON o.id = s.id AND s.t BETWEEN o.t AND o.t + INTERVAL 20 SECONDS;
"""


def _time(number: int) -> str:
    return (_START + timedelta(milliseconds=number * 10)).isoformat()


def write_project(folder: Path, job: str = JOB) -> None:
    """Every second order ships."""
    (folder / "job.sql").write_text(job)
    modified = time.time() - BATCHES
    for name, step in (("orders", 1), ("shipments", 2)):
        (folder / name).mkdir()
        for batch in range(BATCHES):
            lines = [
                json.dumps(
                    {"id": number, "t": (_START + timedelta(milliseconds=number * 10)).isoformat()}
                )
                for number in range(batch * ROWS, (batch + 1) * ROWS, step)
            ]
            path = folder / name / f"{batch:04d}.json"
            path.write_text("\n".join(lines) + "\n")
            # Spark reads files by modification time, in any order within a millisecond.
            os.utime(path, (modified + batch, modified + batch))


EXPECTED = Counter((number, None if number % 2 else number) for number in range(BATCHES * ROWS))


def rows(folder: Path) -> Counter[tuple[int, int | None]]:
    found = [
        json.loads(line)
        for file in (folder / "out").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    return Counter((row["id"], row.get("shipment")) for row in found)


def start(
    folder: Path, *options: str, before: tuple[str, ...] = (), checkpoint: str = "checkpoint"
) -> subprocess.Popen[str]:
    """The job as the leader of a process group of its own."""
    millstream = str(Path(sys.executable).with_name("millstream"))
    command = [*before, millstream, "run", "job.sql", "--cores", "2", "--checkpoint", checkpoint]
    return subprocess.Popen(
        [*command, *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + _SECONDS
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def committed(folder: Path, pipeline: str = "joined") -> int:
    commits = folder / "checkpoint" / pipeline / "spark" / "commits"
    return len([1 for file in commits.glob("*") if file.name.isdecimal()])


def wait_for_batches(process: subprocess.Popen[str], folder: Path, batches: int) -> None:
    """Until so many more batches are committed."""
    goal = committed(folder) + batches
    wait_for(lambda: committed(folder) >= goal, process)


def daemons_and_workers(
    process: subprocess.Popen[str],
) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """Those of the job: a worker is a child of a daemon."""
    jvm = jvm_of(process)
    daemons = [each for each in jvm.children() if "millstream.engine.worker" in _command(each)]
    return daemons, [worker for daemon in daemons for worker in _children(daemon)]


def jvm_of(process: subprocess.Popen[str]) -> psutil.Process:
    found = [each for each in psutil.Process(process.pid).children() if each.name() == "java"]
    return found[0]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []


def kill(processes: list[psutil.Process], number: signal.Signals = signal.SIGKILL) -> None:
    for each in processes:
        try:
            os.kill(each.pid, number)
        except ProcessLookupError:
            continue
