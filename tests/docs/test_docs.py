"""Code blocks of the documentation work, links resolve, and pictures are up to date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from docs.pictures.draw import PICTURES

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.sql.parse import parse
from millstream.sql.statements import CreateSink, CreateSource, CreateTable, Statement
from millstream.testing.load import load_file
from millstream.testing.sources import case_job

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
FENCE = re.compile(r"^```(\w+)? *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str
    declared: str  # sources and sinks of earlier run blocks of the page

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def is_declaration(statement: Statement) -> bool:
    return isinstance(statement, CreateSource | CreateTable) or (
        isinstance(statement, CreateSink) and statement.query is None
    )


def blocks(page: Path) -> Iterator[Block]:
    text, declared = page.read_text(encoding="utf-8"), ""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        language, words, code = match[1] or "", tuple(match[2].split()), match[3]
        if language == "sql" and words == ("run",) and all(map(is_declaration, parse(code))):
            declared += code
            continue
        yield Block(page, line, language, words, code, declared)


BLOCKS = [block for page in PAGES for block in blocks(page)]


def tagged_blocks(language: str, word: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language and block.words[:1] == (word,)]


def test_every_tag_is_known():
    tags = {(block.language, *block.words[:1]) for block in BLOCKS if block.words}
    assert tags <= {
        ("sql", "run"),
        ("sql", "rejected"),
        ("yaml", "run"),
        ("python", "run"),
        # Tags of the chapter on the catalog, see test_catalog_docs.py.
        ("yaml", "file"),
        ("csv", "file"),
        ("console", "run"),
        ("python", "catalog"),
    }


@pytest.mark.parametrize("block", tagged_blocks("sql", "run"), ids=str)
def test_sql_can_be_planned(block):
    assert build_job(block.declared + block.text).pipelines


@pytest.mark.parametrize("block", tagged_blocks("sql", "rejected"), ids=str)
def test_sql_is_rejected_with_the_code_of_the_block(block):
    with pytest.raises(MillstreamError) as caught:
        build_job(block.declared + block.text)
    assert caught.value.code == block.words[1], str(caught.value)


@pytest.mark.parametrize("block", tagged_blocks("yaml", "run"), ids=str)
def test_yaml_is_a_case_that_can_be_planned(block, tmp_path):
    path = tmp_path / "a.test.yaml"
    path.write_text(block.text)
    for case in load_file(path):
        rejected = pytest.raises(MillstreamError, match=f"^{case.error} at ")
        with rejected if case.error else nullcontext():
            case_job(case)


@pytest.mark.parametrize(
    "page",
    sorted({block.page for block in tagged_blocks("python", "run")}),
    ids=lambda page: page.name,
)
def test_python_runs(page, request, monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in tagged_blocks("python", "run"):
        if block.page == page:
            if re.search(r"\bspark\b", block.text):
                names["spark"] = request.getfixturevalue("spark")
            exec(compile("\n" * block.line + block.text, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_pictures_are_up_to_date():
    folder = ROOT / "docs/pictures"
    assert {path.name for path in folder.glob("*.svg")} == PICTURES.keys()
    for name, draw in PICTURES.items():
        stored = (folder / name).read_text(encoding="utf-8")
        assert stored == draw(), f"{name} is outdated: run python -m docs.pictures.draw"
