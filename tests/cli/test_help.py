"""What a newcomer reads first, and that it comes at once."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.cli.jobs import JOIN, SOURCES, command, project

LIGHT = """
import sys
from millstream.cli.main import app
try:
    app(sys.argv[1:])
except SystemExit:
    pass
heavy = {name.split(".")[0] for name in sys.modules} & {"pyspark", "polars", "pandas", "pyarrow"}
sys.stderr.write(f"heavy: {sorted(heavy)}")
"""


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_help_shows_the_verbs_and_where_to_start():
    done = command("--help")
    assert done.exit_code == 0
    for words in ("init", "run", "explain", "test", "millstream run shop/job.sql --once --flush"):
        assert words in plain(done.stdout)


@pytest.mark.parametrize("verb", ["init", "run", "explain", "connectors", "test"])
def test_every_verb_teaches_by_examples(verb):
    done = command(verb, "--help")
    assert done.exit_code == 0
    assert "Examples:" in done.stdout
    assert f"millstream {verb}" in plain(done.stdout)


def test_version():
    done = command("--version")
    assert done.exit_code == 0
    assert re.fullmatch(r"millstream \d+\.\d+\.\d+\S*\n", done.stdout)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["explain", "JOB"], ["connectors", "file"]]
)
def test_help_and_explain_import_no_engine(tmp_path, arguments):
    job = project(tmp_path, SOURCES + JOIN)
    given = [str(job) if argument == "JOB" else argument for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, *given],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == "heavy: []"
    assert done.stdout
