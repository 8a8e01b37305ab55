"""The table of CONTRIBUTING.md, "A new kind of join touches", is what the kinds of join touch."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from millstream.plan.kinds import JOINS

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "millstream"
KINDS = "millstream.plan.kinds"
OUTSIDE = ("docs/", "tests/", "examples/")
ESSENTIAL = (
    "plan/nodes/joins.py",
    "plan/nodes/__init__.py",
    "plan/kinds/",
    "plan/build/joins/",
    "plan/build/joins/from_clause.py",
    "engine/compile/join_kernels.py",
)


def listed() -> list[str]:
    """The paths of the table; one that ends with a slash stands for what is in the folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("A new kind of join touches")[1].split("\n\n")[1]
    return [path for path in re.findall(r"`([^`]*)`", table) if "/" in path]


@cache
def identifiers(path: Path) -> frozenset[str]:
    """The names in a module's code, without comments and strings."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return frozenset(token.string for token in tokens if token.type == tokenize.NAME)


def builders(node: type) -> set[str]:
    """The functions of modules in plan/build/joins that make a node of the class."""
    found = set()
    for path in (SOURCE / "plan" / "build" / "joins").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = (each.func for each in ast.walk(tree) if isinstance(each, ast.Call))
        if node.__name__ in {call.id for call in calls if isinstance(call, ast.Name)}:
            functions = (each.name for each in tree.body if isinstance(each, ast.FunctionDef))
            found |= {name for name in functions if name.startswith("plan_")}
    return found


@cache
def kinds_known(path: Path) -> frozenset[str]:
    """The kinds that a module imports, and the names of the Python API's methods."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and path.parent == SOURCE / "api":
            found.add(node.name)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(KINDS):
            found |= {str(node.module).rpartition(".")[2], *(each.name for each in node.names)}
    return frozenset(found)


def touched_by(node: type) -> set[str]:
    """The modules that know a kind of join: its node, kind, builder, kernel, spec or method."""
    makers = builders(node)
    return {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if identifiers(path) & makers
        or any(node.__name__ in name for name in identifiers(path))
        or JOINS[node].name in kinds_known(path)
    }


def matches(path: str, pattern: str) -> bool:
    return path.startswith(pattern) if pattern.endswith("/") else path == pattern


@pytest.mark.parametrize("node", JOINS, ids=lambda node: node.__name__)
def test_a_kind_of_join_is_known_where_the_table_says_and_nowhere_else(node: type) -> None:
    touched, paths = touched_by(node), listed()
    assert [path for path in touched if not any(matches(path, each) for each in paths)] == []
    for pattern in ESSENTIAL:
        assert any(matches(path, pattern) for path in touched), pattern


def test_every_path_of_the_table_is_one_that_a_kind_of_join_touches() -> None:
    touched = {path for node in JOINS for path in touched_by(node)}
    for pattern in listed():
        if pattern.startswith(OUTSIDE):
            assert (ROOT / pattern).exists()
        else:
            assert any(matches(path, pattern) for path in touched), pattern
    assert set(ESSENTIAL) <= set(listed())
