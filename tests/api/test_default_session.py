"""The Python API in a default Spark session: as a script without an activated environment, and in a
Jupyter kernel. The session lacks what Millstream needs, and its workers another Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("default_session.py")
ROWS = "[('', 3.5), ('ups', 2.5)]"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No environment is activated, and Spark does not know this Python."""
    java = Path(shutil.which("java") or "").resolve()
    monkeypatch.setenv("JAVA_HOME", os.environ.get("JAVA_HOME") or str(java.parents[1]))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("PYSPARK", "SPARK", "VIRTUAL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("environment")
@pytest.mark.timeout(600)
def test_a_script_joins_and_aggregates_without_noise() -> None:
    text = SCRIPT.read_text(encoding="utf-8").replace(
        "folder = Path", 'import sys; print("started", file=sys.stderr)\nfolder = Path'
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [ROWS]
    printed = done.stderr.split("started\n")[1]
    progress = r"\[Stage [^\]]*\]"  # Spark's own progress bar
    assert re.sub(progress, "", printed).strip() == ""


@pytest.mark.usefixtures("environment")
@pytest.mark.timeout(600)
def test_a_notebook_shows_streams_plans_runs_and_ledgers() -> None:
    cells = SCRIPT.read_text(encoding="utf-8").split("# %%\n")[1:]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    _, stream, plan, run, ledger, last = [cell.outputs for cell in notebook.cells]
    assert "<td>carrier</td><td>string</td>" in _html(stream)
    assert _html(plan).startswith("<pre>Job")
    assert _html(run).startswith("<pre>StreamRun result: ended")
    assert _html(ledger).startswith("<pre>ledger")
    assert [(each.name, each.text) for each in last] == [("stdout", f"{ROWS}\n")]


def _html(outputs: list[Any]) -> str:
    """The only output of a cell, as the notebook shows it."""
    shown = [each for each in outputs if each.output_type != "stream"]
    noise = [each.text for each in outputs if each.output_type == "stream"]
    assert not any(re.sub(r"\[Stage [^\]]*\]|\s", "", text) for text in noise), noise
    (result,) = shown
    return str(result.data["text/html"])
