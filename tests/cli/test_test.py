"""`millstream test` chooses cases, starts Spark only when needed, and ends with a count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.cli.jobs import command

import millstream.cli.lazy_runner as lazy

EXAMPLES = Path(__file__).parents[2] / "examples"
REJECTED = len(list((EXAMPLES / "interval_joins").glob("rejected_*.test.yaml")))


@pytest.fixture
def no_spark(monkeypatch):
    def reject(self: object) -> None:
        raise AssertionError("a rejected plan needs no Spark")

    monkeypatch.setattr(lazy.LazyRunner, "_session", reject)


def test_cases_that_expect_a_rejection_need_no_spark(no_spark):
    done = command("test", EXAMPLES / "interval_joins", "-k", "rejected_", "--engine", "columnar")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == (
        f"{REJECTED} cases on the columnar engine: {REJECTED} passed, 0 failed"
    )


def test_both_engines_run_by_default(no_spark):
    done = command("test", EXAMPLES / "interval_joins", "-k", "REJECTED_")
    assert done.stdout.splitlines()[-1] == (
        f"{REJECTED} cases, {2 * REJECTED} results on 2 engines: {2 * REJECTED} passed, 0 failed"
    )


def test_a_failed_case_ends_with_1_and_stands_in_every_report(no_spark, tmp_path):
    case = tmp_path / "a.test.yaml"
    case.write_text("name: a\nsql: SELECT\nerror: MS-PLAN-UNBOUNDED\n")
    junit = tmp_path / "report.xml"
    done = command("test", case, "--engine", "columnar", "--json", "--junit", junit)
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert (report["passed"], report["failed"]) == (0, 1)
    assert ET.parse(junit).getroot().attrib["failures"] == "1"


def test_no_case_with_the_words_is_an_error():
    done = command("test", EXAMPLES, "-k", "no such case")
    assert done.exit_code == 2
    assert done.stderr.startswith("MS-CLI-NO-CASE\n")


CASES = EXAMPLES / "orders" / "tests" / "21_stream_stream_join.test.yaml"


def started(folder: Path) -> subprocess.Popen[str]:
    """`millstream test` with all temporary files, also those of the JVM, in a folder."""
    temporary = {
        "TMPDIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder}",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "millstream.cli", "test", str(CASES)],
        env=os.environ | temporary,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_temporary_file_is_left_behind(tmp_path):
    run = started(tmp_path)
    out, message = run.communicate()
    assert run.returncode == 0, message
    assert out.splitlines()[-1] == "1 case, 2 results on 2 engines: 2 passed, 0 failed"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_no_temporary_file_is_left_behind_by_a_run_that_is_interrupted(tmp_path, number, code):
    run = started(tmp_path)
    begun = "millstream-test-*/millstream-test-*/checkpoint/*/spark/offsets/0"
    while not list(tmp_path.glob(begun)):
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    run.send_signal(number)
    message = run.communicate(timeout=120)[1]
    assert run.returncode == code, message
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []
