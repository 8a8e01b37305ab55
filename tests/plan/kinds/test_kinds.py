"""What is special about a kind of operator is in its record: other code does not test classes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from millstream.plan.kinds import JOINS, KINDS, SINGLE_INPUT
from millstream.plan.nodes import Join, Operator, SingleInput

SOURCE = Path(__file__).parents[3] / "src" / "millstream"
CLASSES = {node.__name__ for node in get_args(Operator)} | {"BoundedJoin"}
# where compilers of kinds are registered by the class of a node
COMPILERS = (
    "engine/compile/join_kernels.py",
    "engine/compile/single_input.py",
    "engine/compile/native.py",
)


def classes_asked_for(tree: ast.AST) -> Iterator[str]:
    """Classes of operators in `isinstance`, `issubclass`, `case` and comparisons with `type(…)`."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            parts = list(node.args[1:]) if node.func.id in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            parts = [node.left, *node.comparators]
        for part in parts:
            names = {each.id for each in ast.walk(part) if isinstance(each, ast.Name)}
            yield from sorted(names & CLASSES)


def classes_built(tree: ast.AST) -> set[str]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)} & CLASSES


def classes_imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "millstream.plan.nodes":
            yield from (each.name for each in node.names if each.name in CLASSES)


@pytest.mark.parametrize("find", [classes_asked_for, classes_imported])
def test_only_kinds_builders_and_compilers_know_the_class_of_an_operator(
    find: Callable[[ast.AST], Iterator[str]],
) -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith("plan/kinds/") or name in COMPILERS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        built = classes_built(tree)
        found += [f"{name}: {each}" for each in find(tree) if each not in built]
    assert found == []


@pytest.mark.parametrize(
    ("code", "classes"),
    [
        ("isinstance(node, WindowJoin)", ["WindowJoin"]),
        ("isinstance(node, Aggregate | TopN)", ["Aggregate", "TopN"]),
        ("type(node) is SessionJoin", ["SessionJoin"]),
        ("match node:\n    case TemporalJoin():\n        pass", ["TemporalJoin"]),
        ("isinstance(node, Join)", []),
        ("{WindowJoin: compile_window}", []),
    ],
)
def test_the_search_finds_what_it_is_for(code: str, classes: list[str]) -> None:
    assert list(classes_asked_for(ast.parse(code))) == classes


def test_every_kind_of_node_has_one_record() -> None:
    assert set(JOINS) == set(get_args(Join))
    assert set(SINGLE_INPUT) == set(get_args(SingleInput))
    assert len({kind.name for kind in KINDS.values()}) == len(KINDS)


def test_every_field_of_a_kind_differs_between_kinds() -> None:
    """A field that all kinds share says nothing of a kind."""
    for kinds in (JOINS, SINGLE_INPUT):
        for each in fields(next(iter(kinds.values()))):
            values = [
                getattr(kind, each.name) for kind in KINDS.values() if hasattr(kind, each.name)
            ]
            assert any(value != values[0] for value in values), each.name
