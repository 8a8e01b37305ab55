"""Processes of a job are killed or its disk fails: it survives, or says what to do."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.recovery import jobs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def finish(folder: Path) -> None:
    """An undisturbed run to the end of input completes the output."""
    out, stderr = (process := jobs.start(folder, "--once", "--flush", "--json")).communicate()
    assert process.returncode == 0, stderr
    assert json.loads(out)["queries"][0]["ledger"]["balanced"]
    assert jobs.rows(folder) == jobs.EXPECTED


def assert_clean(stderr: str) -> None:
    for unwanted in ("Traceback", "MS-RUN-BUG", "py4j", "Py4J"):
        assert unwanted not in stderr, stderr


def test_a_job_survives_the_loss_of_its_workers_and_of_their_daemon(tmp_path):
    jobs.write_project(tmp_path)
    process = jobs.start(tmp_path, "--once", "--flush", "--json")
    for number, which in ((signal.SIGKILL, 1), (signal.SIGKILL, 0), (signal.SIGTERM, 0)):
        jobs.wait_for_batches(process, tmp_path, 2)
        jobs.kill(jobs.daemons_and_workers(process)[which], number)
    out, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert json.loads(out)["queries"][0]["ledger"]["balanced"]
    assert jobs.rows(tmp_path) == jobs.EXPECTED


def test_a_job_whose_workers_are_lost_again_and_again_says_that_a_restart_is_safe(tmp_path):
    jobs.write_project(tmp_path)
    process = jobs.start(tmp_path, "--once", "--flush")
    jobs.wait_for_batches(process, tmp_path, 2)
    while process.poll() is None:
        try:
            jobs.kill(jobs.daemons_and_workers(process)[1])
        except IndexError:
            break  # its JVM has ended: the job is about to
        time.sleep(0.002)
    stderr = process.communicate()[1]
    assert process.returncode == 1
    assert (
        "MS-RUN-WORKER\na Python worker ended unexpectedly, 4 times in the same task.\n" in stderr
    )
    assert "Run the job again: it continues from its checkpoint and writes no row twice." in stderr
    assert_clean(stderr)
    finish(tmp_path)


def test_a_killed_jvm_ends_the_job_with_an_error_that_says_so(tmp_path):
    jobs.write_project(tmp_path)
    process = jobs.start(tmp_path, "--once", "--flush")
    jobs.wait_for_batches(process, tmp_path, 2)
    jobs.kill([jobs.jvm_of(process)])
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "MS-RUN-JVM\nSpark's JVM was killed by SIGKILL while the job was running.\n" in stderr
    assert "Run the job again: it continues from its checkpoint and writes no row twice." in stderr
    assert_clean(stderr)
    finish(tmp_path)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)]
)
def test_a_signal_to_all_processes_of_a_job_stops_it_cleanly(tmp_path, number, code):
    jobs.write_project(tmp_path)
    process = jobs.start(tmp_path)
    jobs.wait_for_batches(process, tmp_path, 2)
    os.killpg(process.pid, number)
    out, stderr = process.communicate(timeout=120)
    assert process.returncode == code, stderr
    assert "Stopped. The next run resumes from checkpoint." in stderr
    assert "\nbalanced\n" in out
    assert "WARN" not in stderr
    assert_clean(stderr)


def test_a_second_ctrl_c_ends_all_processes_of_a_job_at_once(tmp_path):
    jobs.write_project(tmp_path)
    process = jobs.start(tmp_path)
    jobs.wait_for_batches(process, tmp_path, 2)
    jvm = jobs.jvm_of(process)
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    stderr = process.communicate(timeout=120)[1]
    assert process.returncode == 130, stderr
    assert_clean(stderr)
    jvm.wait(60)
    finish(tmp_path)


MOUNT = 'mkdir -p disk && mount -t tmpfs -o size={} none disk && exec "$@"'


def test_a_full_checkpoint_disk_ends_the_job_with_an_error_that_says_so(tmp_path):
    jobs.write_project(tmp_path)
    mount = ("unshare", "-rm", "sh", "-c", MOUNT.format("400k"), "sh")
    options = ("--once", "--log", "spark.log")
    process = jobs.start(tmp_path, *options, before=mount, checkpoint="disk/checkpoint")
    stderr = process.communicate(timeout=400)[1]
    assert process.returncode == 1
    assert (
        "MS-RUN-DISK\nthe checkpoint folder disk/checkpoint cannot be written: No space" in stderr
    )
    assert "Fix: Make it writable, with free space. Run the job again: it continues" in stderr
    assert_clean(stderr)


def test_a_read_only_checkpoint_is_rejected_before_spark_starts(tmp_path):
    jobs.write_project(tmp_path)
    read_only = MOUNT.format("1m").replace("exec", "mount -o remount,ro disk && exec")
    mount = ("unshare", "-rm", "sh", "-c", read_only, "sh")
    process = jobs.start(tmp_path, "--once", before=mount, checkpoint="disk/checkpoint")
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert stderr == (
        "MS-RUN-DISK\n"
        "the checkpoint folder disk/checkpoint cannot be written: Read-only file system.\n"
        "Fix: Make it writable, with free space. Run the job again: it continues from its "
        "checkpoint and writes no row twice.\n"
    )
