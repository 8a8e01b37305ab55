"""The file of Spark's classes: later JVMs take them from it, and need not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.engine.runtime import class_archive as archive

pytestmark = pytest.mark.slow

_COUNT = """
from millstream.engine.runtime.jvm import end
from millstream.engine.runtime.session import local_session
spark = local_session(1)
print("counted", spark.range(5).count())
end(spark)
"""


def _java(code: str, folder: Path, log: Path) -> str:
    """What a program prints whose Spark has its classes in a folder and logs where each is from."""
    env = {
        **os.environ,
        "MILLSTREAM_CACHE": str(folder),
        "SPARK_SUBMIT_OPTS": f"-Xlog:class+load:file={log}",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_classes_come_from_the_file_that_prepare_makes(tmp_path: Path) -> None:
    env = {**os.environ, "MILLSTREAM_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "millstream.cli", "prepare"]
    subprocess.run(command, env=env, check=True, capture_output=True)
    (made,) = tmp_path.iterdir()
    assert made.suffix == ".jsa"
    assert "counted 5" in _java(_COUNT, tmp_path, tmp_path / "load.log")
    loaded = (tmp_path / "load.log").read_text(encoding="utf-8").splitlines()
    shared = [line for line in loaded if "shared objects file" in line and "spark" in line]
    assert len(shared) > 1000


def test_a_file_that_does_not_fit_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path))
    path = archive.archive()
    assert path is not None
    path.write_bytes(b"no archive at all")
    assert "SharedArchiveFile" in archive.options()
    assert "counted 5" in _java(_COUNT, tmp_path, tmp_path / "load.log")
