"""`millstream nexmark` as a user calls it; what needs Spark is tested beside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.jobs import command


def test_generate_writes_what_it_says(tmp_path: Path):
    folder = tmp_path / "events"
    arguments = ["--events", "500", "--files", "2", "--format", "csv", "--disorder", "1s", "--json"]
    done = command("nexmark", "generate", str(folder), *arguments)
    assert done.exit_code == 0
    text = json.loads(done.stdout)
    assert (text["files"], text["format"]) == (2, "csv")
    assert text["options"]["disorder"] == 1_000_000
    assert sorted(path.name for path in folder.iterdir()) == [
        "auction", "bid", "nexmark.json", "person", "side_input",
    ]  # fmt: skip
    lines = [path.read_text(encoding="utf-8").count("\n") for path in folder.glob("bid/*.csv")]
    assert sum(lines) == 460


def test_generate_writes_over_nothing(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    done = command("nexmark", "generate", str(tmp_path))
    assert done.exit_code == 2
    assert "is not an empty folder" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["generate", "FOLDER", "--rate", "2000000"],
            "MS-CLI-VALUE\nrate must be at most 1,000,000",
        ),
        (["generate", "FOLDER", "--format", "xml"], "MS-CLI-VALUE\n'xml' is not a valid value."),
        (["generate", "FOLDER", "--disorder", "soon"], "'soon' is not a duration"),
        (["verify", "--queries", "q99"], "'q99' is not a valid value."),
        (["verify", "--shapes", "sideways"], "Use one or more of in-order, out-of-order"),
        (["verify", "--seeds", "one"], "MS-CLI-VALUE\n'one' is not a list of integers."),
        (["run", "--data", "FOLDER"], "contains no NEXMark events"),
        (["run", "--disorder", "10s"], "the watermark delay is 4s"),
        (["report", "nothing.json"], "cannot read nothing.json"),
    ],
)
def test_mistakes_are_reported_before_anything_starts(arguments, text, tmp_path: Path):
    given = [str(tmp_path / "new") if part == "FOLDER" else part for part in arguments]
    done = command("nexmark", *given)
    assert done.exit_code == 2
    assert text in done.stderr


@pytest.mark.parametrize("verb", ["generate", "verify", "run", "report"])
def test_every_verb_has_help(verb):
    assert command("nexmark", verb, "--help").exit_code == 0


def test_benchmarks_are_part_of_a_checkout_only(monkeypatch, tmp_path: Path):
    monkeypatch.setattr("millstream.cli.checkout.__file__", str(tmp_path / "a/b/c/checkout.py"))
    done = command("nexmark", "verify")
    assert done.exit_code == 2
    assert done.stderr == (
        "MS-CLI-BENCH\nthis installation does not contain the benchmarks.\n"
        "Fix: Run the command in a clone of the repository, after `make setup`.\n"
    )
