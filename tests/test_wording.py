"""Code and documentation use the vocabulary of Spark and Flink (see CONTRIBUTING.md).

`RULES` lists expressions that readers stumbled over, with the words to use instead. `ALLOWED` lists
the texts that are right as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PLACES = ("src", "docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SUFFIXES = {".py", ".md", ".sql", ".yaml"}


class Rule(NamedTuple):
    """An expression to avoid, and what to write instead."""

    pattern: str
    instead: str


RULES = (
    Rule(r"(come|comes|coming|came|put|puts) out\b", "emit, is emitted"),
    Rule(r"(take|takes|taken|took|taking) back\b", "retract, retraction"),
    Rule(r"let(s|ting)? go\b|forgotten\b|of no more use\b", "expire (watermark), evict (limit)"),
    Rule(r"silen(t|ce)\b", "idle (source)"),
    Rule(r"(un)?steady\b(?! state)", "deterministic, non-deterministic"),
    Rule(r"in force\b", "valid at a time"),
    Rule(r"set(s|ting)? aside\b", "dead-letter queue"),
    Rule(r"(go|goes|went|going) by\b", "uses, is determined by"),
    Rule(r"(go|goes|went|going) on\b", "continues, resumes"),
    Rule(r"refus(e|es|ed|al|als|ing)\b", "reject (a query), fail (a run)"),
    Rule(r"partners?\b", "match"),
    Rule(r"(sent|send) about\b|rid(e|es|ing) (along|through)\b", "shuffle, pass through"),
    Rule(r"(is|are|was|were) (told|asked|heard)\b", "reports, requires, receives"),
    Rule(r"tried again\b", "retried"),
    Rule(r"(by|of) the (wall )?clock\b", "processing time"),
    Rule(r"as it stands\b|stands? (for|in|there|below|above|beside)\b", "is, contains"),
    Rule(r"heav(y|iest) keys?\b", "skewed key, heavy hitter"),
)

# Each entry is a file and a text in it; the text may contain an expression of `RULES`.
ALLOWED = (
    ("src/millstream/testing/*.py", "silence"),  # a key of test files: how long sources are idle
    ("examples/*/*.yaml", "silence:"),
    ("docs/16-testing-jobs.md", "`silence`"),
)


def files() -> Iterator[Path]:
    """Yields the files that the rules apply to."""
    for place in PLACES:
        path = ROOT / place
        candidates = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (each for each in candidates if each.suffix in SUFFIXES)


def without_allowed(file: Path, line: str) -> str:
    """Removes the texts that are allowed in the file."""
    for pattern, text in ALLOWED:
        if file.relative_to(ROOT).match(pattern):
            line = line.replace(text, "")
    return line


def search_text(text: str) -> Iterator[tuple[str, str]]:
    """Yields the expressions to avoid in a text, with the words to use instead."""
    for rule in RULES:
        if found := re.search(rf"\b(?:{rule.pattern})", text, re.IGNORECASE):
            yield found[0], rule.instead


def search_file(file: Path) -> Iterator[str]:
    """Yields a message for each expression to avoid in a file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        for text, instead in search_text(without_allowed(file, line)):
            yield f"{file.relative_to(ROOT)}:{number}: {text!r}, write: {instead}"


def test_code_and_documentation_use_the_common_vocabulary() -> None:
    found = [message for file in files() for message in search_file(file)]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(("pattern", "text"), ALLOWED)
def test_every_allowed_text_is_in_use(pattern: str, text: str) -> None:
    matching = [file for file in files() if file.relative_to(ROOT).match(pattern)]
    assert any(text in file.read_text(encoding="utf-8") for file in matching)


def test_an_expression_to_avoid_is_found() -> None:
    assert list(search_text("Rows are taken back.")) == [("taken back", "retract, retraction")]
    assert list(search_text("Rows are retracted.")) == []
