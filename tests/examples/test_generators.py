"""The data generators of the examples: the same seed gives the same files."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from tests.examples.generated import AHEAD, BAD, EXAMPLES, contents, generate

GENERATED = ("ads", "market")


@pytest.mark.parametrize("example", GENERATED)
def test_the_committed_data_is_what_the_generator_writes_by_default(tmp_path, example):
    generate(example, tmp_path)
    assert contents(tmp_path) == contents(EXAMPLES / example / "data")


@pytest.mark.parametrize("example", GENERATED)
def test_a_seed_decides_the_files(tmp_path, example):
    for name, seed in (("first", "7"), ("again", "7"), ("other", "8")):
        generate(example, tmp_path / name, "--rows", "60", "--seed", seed, "--files", "2")
    first, again, other = (contents(tmp_path / name) for name in ("first", "again", "other"))
    assert first == again
    assert first.keys() == other.keys()
    assert first != other


@pytest.mark.parametrize("example", GENERATED)
def test_the_help_names_every_option(example):
    script = EXAMPLES / example / "generate.py"
    done = subprocess.run(
        [sys.executable, str(script), "--help"], capture_output=True, text=True, check=True
    )
    for option in ("--rows", "--seed", "--files", "--out"):
        assert option in done.stdout


def test_clicks_are_out_of_order_within_the_watermark_delay_and_some_come_twice(tmp_path):
    generate("ads", tmp_path, "--rows", "2000", "--files", "4")
    ids: list[str] = []
    greatest, behind = datetime(1970, 1, 1, tzinfo=UTC), timedelta()
    for file in sorted((tmp_path / "clicks").iterdir()):
        lines = file.read_text().splitlines()
        rows = [json.loads(line) for line in lines if BAD not in line and AHEAD not in line]
        times = [datetime.fromisoformat(row["event_time"]) for row in rows]
        assert times != sorted(times)
        behind = max(behind, greatest - min(times))
        greatest = max(greatest, *times)
        ids += [row["click_id"] for row in rows]
    assert behind < timedelta(minutes=2)
    assert len(ids) - len(set(ids)) > 10
