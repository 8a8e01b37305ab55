"""Texts to start from: the SQL and the test files of examples, documentation and golden files."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.golden import cases
from tests.plan.plans import SOURCES_SQL, TABLES_SQL

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@cache
def sql_texts() -> tuple[str, ...]:
    examples = [path.read_text() for path in _files("examples", "*.sql")]
    return (*examples, *_documented(), *_golden())


@cache
def test_files() -> tuple[str, ...]:
    examples = [path.read_text() for path in _files("examples", "*.test.yaml")]
    documented = [
        text
        for page in _files("docs", "*.md")
        for kind, text in _BLOCK.findall(page.read_text())
        if kind == "yaml"
    ]
    return (*examples, *documented)


def _documented() -> list[str]:
    """Each block of SQL after the declarations that come before it on its page."""
    found = []
    for page in _files("docs", "*.md"):
        declared = ""
        for kind, text in _BLOCK.findall(page.read_text()):
            if kind == "sql" and "SELECT" not in text:
                declared += text
            elif kind == "sql":
                found.append(declared + text)
    return found


def _golden() -> list[str]:
    found = []
    for file in _files("tests/golden/plan", "*.sql"):
        for case in cases._read(file):
            sink = "" if case.sql.startswith("CREATE") else "CREATE SINK it AS "
            found.append(f"{SOURCES_SQL}{TABLES_SQL}{sink}{case.sql}")
    return found


def _files(folder: str, pattern: str) -> list[Path]:
    return sorted((ROOT / folder).rglob(pattern))
