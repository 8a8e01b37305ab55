"""YAML with places: values as plain Python, each with its line and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from millstream.errors import HarnessError, Place
from millstream.testing.yaml_loader import Loader, RejectedError


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, and the places of its parts."""

    value: object
    root: yaml.Node
    file: str

    def place(self, path: Sequence[str | int] = ()) -> Place:
        """Where the deepest part of `path` that exists stands: a key if it is one, else a value."""
        at = [self.root.start_mark, *(mark for _, mark in self._walk(path))][-1]
        return Place(at.line + 1, at.column + 1, file=self.file)

    def known(self, path: Sequence[str | int]) -> str:
        """The part of `path` that exists, with dots."""
        return ".".join(str(step) for step, _ in self._walk(path))

    def _walk(self, path: Sequence[str | int]) -> Iterator[tuple[str | int, yaml.Mark]]:
        node = self.root
        for step in path:
            found = _child(node, step)
            if found is None:
                return
            node, mark = found
            yield step, mark


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Mark] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value, key.start_mark
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child = node.value[step]
        return child, child.start_mark
    return None


def read(text: str, file: str) -> list[Document]:
    """All documents of a text, in order."""
    try:
        return list(_documents(Loader(text), file))
    except RejectedError as error:
        at = Place(error.mark.line + 1, error.mark.column + 1, file=file)
        raise HarnessError(error.code, error.cause, fix=error.fix, place=at) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise HarnessError(
            "MS-TEST-YAML",
            f"the file is not YAML: {error.problem or error.context}.",
            place=Place(mark.line + 1, mark.column + 1, file=file) if mark else None,
        ) from None
    except yaml.YAMLError as error:
        raise HarnessError("MS-TEST-YAML", f"{file} is not YAML: {error}") from None


def _documents(loader: Loader, file: str) -> Iterator[Document]:
    while loader.check_node():
        root = loader.get_node()
        if root is None:
            continue
        _refuse_doubles(root, file)
        yield Document(loader.construct_document(root), root, file)


def _place(node: yaml.Node, file: str) -> Place:
    mark = node.start_mark
    return Place(mark.line + 1, mark.column + 1, file=file)


def _refuse_doubles(node: yaml.Node, file: str) -> None:
    """A key given twice: YAML would keep the last and say nothing."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_doubles(child, file)
    if isinstance(node, yaml.MappingNode):
        seen: set[object] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise HarnessError(
                    "MS-TEST-YAML",
                    "a key is a word, and here stands more.",
                    fix="Put it in quotes if braces or brackets are part of it.",
                    place=_place(key, file),
                )
            if key.value in seen:
                raise HarnessError(
                    "MS-TEST-DOUBLE",
                    f"the key {key.value!r} stands here for the second time.",
                    fix="Remove one.",
                    place=_place(key, file),
                )
            seen.add(key.value)
            _refuse_doubles(value, file)
