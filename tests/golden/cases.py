"""Golden files as pairs, a blank line between them: SQL, then what it must give after `-->`.

A line `-- text` before the SQL is the case's title. `MILLSTREAM_GOLDEN=write pytest tests/sql
tests/plan` writes what the code gives into the files; read the diff before you keep it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ARROW = "-->"


@dataclass(frozen=True)
class Case:
    file: Path
    index: int
    title: str
    sql: str
    expected: str


def cases(folder: str) -> list[object]:
    """Every case below a folder, as parameters with readable names."""
    return [pytest.param(case, id=f"{case.file.stem}-{case.title}") for case in read_cases(folder)]


def read_cases(folder: str) -> list[Case]:
    return [case for file in sorted((HERE / folder).glob("*.sql")) for case in _read(file)]


def check(case: Case, describe: Callable[[str], str]) -> None:
    given = describe(case.sql).rstrip("\n")
    if os.environ.get("MILLSTREAM_GOLDEN") == "write":
        _write(case, given)
        return
    assert given == case.expected


def _read(file: Path) -> list[Case]:
    blocks = [block for block in file.read_text(encoding="utf-8").split("\n\n") if block.strip()]
    return [_case(file, index, block.strip("\n")) for index, block in enumerate(blocks)]


def _case(file: Path, index: int, block: str) -> Case:
    lines = block.split("\n")
    title = lines[0].removeprefix("-- ") if lines[0].startswith("-- ") else ""
    sql = [line for line in lines[1 if title else 0 :] if not line.startswith(ARROW)]
    expected = [line.removeprefix(ARROW)[1:] for line in lines if line.startswith(ARROW)]
    return Case(file, index, title or sql[0], "\n".join(sql), "\n".join(expected))


def _write(case: Case, given: str) -> None:
    blocks = []
    for other in _read(case.file):
        text = given if other.index == case.index else other.expected
        title = [f"-- {other.title}"] if other.title != other.sql.split("\n")[0] else []
        arrows = [f"{ARROW} {line}".rstrip() for line in text.split("\n")] if text else []
        blocks.append("\n".join([*title, other.sql, *arrows]))
    case.file.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
