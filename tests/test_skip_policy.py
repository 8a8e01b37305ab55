"""The policy of conftest.py: marks are off by default, and a skip can be made a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
SAMPLE = """
import pytest

def test_plain(): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.service
def test_service(): pass
"""
INI = """
[pytest]
markers =
    slow: slow
    service: service
"""


def run(folder: Path, test: str, *arguments: str, no_skip: bool = False) -> str:
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "pytest.ini").write_text(INI)
    (folder / "test_sample.py").write_text(test)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=os.environ | {"MILLSTREAM_NO_SKIP": "1" if no_skip else "0"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "closing"),
    [
        ([], "1 passed, 2 deselected"),
        (["--run-slow"], "2 passed, 1 deselected"),
        (["--run-slow", "--run-service"], "3 passed"),
    ],
)
def test_marks_are_deselected_until_asked_for(tmp_path, arguments, closing):
    assert run(tmp_path, SAMPLE, *arguments).startswith(closing)


SKIPS = """
import pytest

def test_plain(): pass

def test_inside(): pytest.skip("no Kafka here")

@pytest.mark.skip(reason="later")
def test_marked(): pass

@pytest.mark.xfail(reason="known", strict=True)
def test_known(): raise ValueError
"""


def test_a_skip_fails_when_skips_are_forbidden(tmp_path):
    assert run(tmp_path, SKIPS).startswith("1 passed, 2 skipped, 1 xfailed")
    closing = run(tmp_path, SKIPS, no_skip=True)
    assert "skipped" not in closing
    assert "1 passed, 1 xfailed" in closing
    assert "failed" in closing.replace("xfailed", "")


def test_a_skipped_module_fails_when_skips_are_forbidden(tmp_path):
    test = "import pytest\npytest.importorskip('no_such_module')\ndef test_it(): pass"
    assert "1 error" in run(tmp_path, test, no_skip=True)
