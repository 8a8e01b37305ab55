"""A run that is told to stop ends cleanly, and the next one goes on."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.jobs import project

START = 240.0  # seconds: a busy machine takes its time to start Spark


def started(job: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "millstream.cli", "run", str(job), "--cores", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_batch(run: subprocess.Popen[str]) -> list[str]:
    """Read what the run says until it has done a batch."""
    assert run.stderr is not None
    message, until = [], time.monotonic() + START
    for line in run.stderr:
        message.append(line.rstrip("\n"))
        if " batch " in line and "rows in" in line:
            return message
        assert time.monotonic() < until, message
    raise AssertionError(f"the run ended: {message}")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sigterm_ends_a_run_cleanly_and_the_next_goes_on_until_ctrl_c(tmp_path):
    job = project(tmp_path)
    run = started(job)
    wait_for_batch(run)
    run.send_signal(signal.SIGTERM)
    out, message = run.communicate(timeout=120)
    assert run.returncode == 0, message
    assert "Stopping. The next run repeats a batch that is not complete." in message
    assert "Stopped. The next run resumes from " in message
    assert "\nbalanced\n" in out
    assert "Traceback" not in message
    assert "WARN" not in message

    (tmp_path / "in/orders/2.csv").write_text("id,amount,at\nC,3,2026-01-15T10:06:00Z\n")
    run = started(job)
    assert any("resuming from batch 1" in line for line in wait_for_batch(run))
    run.send_signal(signal.SIGINT)
    out, message = run.communicate(timeout=120)
    assert run.returncode == 130, message
    assert re.search(r"^in +3 +1$", out, re.MULTILINE)
    assert "Traceback" not in message


def test_a_second_signal_ends_the_process_at_once():
    code = """
import os, signal, time
from millstream.cli.interrupt import Signals
with Signals() as signals:
    os.kill(os.getpid(), signal.SIGINT)
    assert signals.received is signal.SIGINT
    time.monotonic = lambda: float("inf")  # much later
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 130
    assert done.stderr == "\nKilled. The next run continues after the last completed batch.\n"


def test_a_signal_that_is_sent_to_the_process_and_to_its_group_counts_once():
    code = """
import os, signal, time
from millstream.cli.interrupt import Signals
time.monotonic = lambda: 1000.0
with Signals() as signals:
    os.kill(os.getpid(), signal.SIGTERM)
    assert signals.received is signal.SIGTERM
    os.kill(os.getpid(), signal.SIGTERM)
"""
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)


def test_a_closed_terminal_stops_a_run_that_still_prints(tmp_path):
    code = """
import signal, sys, time
from pathlib import Path
from millstream.cli.interrupt import Signals
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run below nohup
with Signals() as signals:
    print("ready", flush=True)
    while signals.received is None:
        time.sleep(0.01)
    print("to the terminal", flush=True)
    sys.stderr.write("and this, too")
    Path(sys.argv[1]).write_text(signals.received.name)
"""
    terminal, own_end = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "heard")],
        preexec_fn=lambda: os.login_tty(own_end),  # noqa: PLW1509
    )
    os.close(own_end)
    assert b"ready" in os.read(terminal, 100)
    os.close(terminal)
    assert run.wait(timeout=30) == 0
    assert (tmp_path / "heard").read_text() == "SIGHUP"


def test_a_run_below_nohup_ignores_a_closed_terminal():
    code = """
import os, signal
from millstream.cli.interrupt import Signals
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with Signals() as signals:
    os.kill(os.getpid(), signal.SIGHUP)
    assert signals.received is None
"""
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)


def test_a_spark_that_does_not_start_is_told_by_its_own_words(tmp_path):
    job = project(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "millstream.cli", "run", str(job), "--once", "--quiet"],
        env=os.environ | {"JAVA_HOME": str(tmp_path / "no-java")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    code, cause, fix = done.stderr.splitlines()
    assert code == "MS-RUN-SPARK"
    assert cause.startswith("Spark did not start: ")
    assert cause.endswith(f"{tmp_path}/no-java/bin/java: No such file or directory")
    assert f"The log of Spark is {tmp_path}/.millstream/job/spark.log." in fix


@pytest.mark.slow
def test_a_stop_while_spark_starts_is_heard_at_once(tmp_path):
    run = started(project(tmp_path))
    assert run.stderr is not None
    while "starting Spark" not in run.stderr.readline():
        pass
    begun = time.monotonic()
    os.kill(run.pid, signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert time.monotonic() - begun < 10
