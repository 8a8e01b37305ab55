"""examples/ads as it runs for days: files arrive, it is stopped and killed, and no row is wrong.

The test waits for what a user can see. Each file ends with a malformed record of its own, a marker.
When a query has it among its dead letters, the query has read the file, and every file that is put
in place afterwards is in a later micro-batch.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.examples import ads_oracle
from tests.examples.generated import Trial, dead_letters

FILES = 6
PATIENCE = 300.0  # seconds: a busy machine takes its time to start Spark
CHECKPOINT = "checkpoint"


def start(trial: Trial, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "millstream.cli", "run", "job.sql", "--json", "--cores", "2"]
    with (trial.folder / "progress.txt").open("a") as progress:
        return subprocess.Popen(
            [*command, "--checkpoint", CHECKPOINT, *options],
            cwd=trial.folder,
            stdout=subprocess.PIPE,
            stderr=progress,
            text=True,
            start_new_session=True,
        )


def wait(trial: Trial, job: subprocess.Popen[str], until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        said = (trial.folder / "progress.txt").read_text()
        assert job.poll() is None, f"the job ended: {said}"
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def marker(source: str, number: int) -> str:
    return f'{{"bad-marker": "{source} {number}'


def drop(trial: Trial, number: int) -> None:
    """Put the files of that number in place, each with its marker."""
    for source in ads_oracle.SOURCES:
        file = trial.folder / "staged" / source / f"{number:04d}.json"
        with file.open("a") as lines:
            lines.write(f"{marker(source, number)}\n")
        trial.drop(source, file)


def has_read(trial: Trial, query: str, number: int) -> bool:
    return all(
        marker(source, number)
        in dead_letters(ads_oracle.dead_letter_folder(trial, CHECKPOINT, query, source))
        for source in ads_oracle.READS[query]
    )


def all_read(trial: Trial, number: int) -> bool:
    return all(has_read(trial, query, number) for query in ads_oracle.READS)


def any_read(trial: Trial, number: int) -> bool:
    return any(has_read(trial, query, number) for query in ads_oracle.READS)


def kill(job: subprocess.Popen[str]) -> None:
    """Kill -9 the job and all it started."""
    os.killpg(job.pid, signal.SIGKILL)
    job.communicate()


def interrupt(trial: Trial, job: subprocess.Popen[str]) -> dict[str, Any]:
    """Ctrl-C; the report of the run."""
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=PATIENCE)
    assert job.returncode == 130, (trial.folder / "progress.txt").read_text()
    report: dict[str, Any] = json.loads(out)
    return report


def late_rows(folder: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in folder.glob("*.json"))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_job_that_is_stopped_and_killed_again_and_again_gives_the_rows_of_a_batch_computation(
    tmp_path: Path,
) -> None:
    trial = Trial.create(
        tmp_path, "ads", ads_oracle.SOURCES, "--rows", "900", "--seed", "5", "--files", str(FILES)
    )
    job = start(trial)
    drop(trial, 0)
    wait(trial, job, lambda: all_read(trial, 0))
    drop(trial, 1)
    wait(trial, job, lambda: any_read(trial, 1))
    kill(job)  # one query has written the batch, others are at work on it

    drop(trial, 2)
    job = start(trial)
    wait(trial, job, lambda: any_read(trial, 2))
    report = interrupt(trial, job)
    assert not any(pipeline["ledger"]["errors"] for pipeline in report["queries"])

    job = start(trial)
    drop(trial, 3)
    wait(trial, job, lambda: all_read(trial, 2))
    kill(job)

    job = start(trial)
    drop(trial, 4)
    wait(trial, job, lambda: all_read(trial, 3))
    drop(trial, 5)
    wait(trial, job, lambda: all_read(trial, 5))
    trial.drop_late()
    wait(trial, job, lambda: all(late_rows(tmp_path / "out" / sink) for sink in ads_oracle.LATE))
    kill(job)

    job = start(trial, "--once", "--flush")
    out, _ = job.communicate(timeout=PATIENCE)
    assert job.returncode == 0, (tmp_path / "progress.txt").read_text()
    ads_oracle.assert_results(trial, CHECKPOINT)
    ads_oracle.assert_ledger(trial, json.loads(out))
