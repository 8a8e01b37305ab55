"""The commands of the chapter on the catalog print the output that it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.jobs import command
from tests.docs.test_docs import BLOCKS, ROOT, Block

PAGE = ROOT / "docs" / "18-dataset-catalog.md"


def test_the_commands_print_the_output_of_the_page(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MILLSTREAM_CATALOG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    kinds = [_run(block) for block in BLOCKS if block.page == PAGE]
    assert kinds.count("commands") >= 6


def _run(block: Block) -> str | None:
    match (block.language, *block.words):
        case (_, "file", name):
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        case ("python", "catalog"):
            exec(compile("\n" * block.line + block.text, str(PAGE), "exec"), {})
        case ("console", "run"):
            _run_commands(block)
            return "commands"
    return None


def _run_commands(block: Block) -> None:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, expected = part.partition("\n")
        program, *arguments = shlex.split(line)
        assert program == "millstream"
        result = command(*arguments)
        printed = [each.rstrip() for each in (result.stdout + result.stderr).splitlines()]
        patterns = [_pattern(each) for each in expected.splitlines() if each]
        assert len(printed) == len(patterns), f"{block}: {result.output}"
        for text, pattern in zip(printed, patterns, strict=True):
            assert re.fullmatch(pattern, text), f"{block}: {text!r} is not {pattern!r}"


def _pattern(line: str) -> str:
    return re.escape(line.rstrip()).replace("…", ".+?")


@pytest.mark.parametrize("word", ["catalog list", "catalog publish", "catalog export"])
def test_the_page_names_the_commands(word: str):
    assert f"millstream {word}" in PAGE.read_text(encoding="utf-8")
