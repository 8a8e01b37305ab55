"""Reads YAML documents as Python values with positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from millstream.documents.yaml_loader import Fault, Loader, RejectedError
from millstream.errors import Place

_MERGE, _TEXT = (f"tag:yaml.org,2002:{kind}" for kind in ("merge", "str"))


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document: its value, and the positions of its parts."""

    value: object
    root: yaml.Node
    file: str

    def place(self, path: Sequence[str | int] = ()) -> Place:
        """Returns the position of the deepest existing part of `path`: of its key, if any."""
        at = [self.root.start_mark, *(mark for _, mark in self._walk(path))][-1]
        return Place(at.line + 1, at.column + 1, file=self.file)

    def text_place(self, path: Sequence[str | int]) -> Place:
        """Returns the position of the first character of the scalar at `path`: after a quote, or
        in the first line of a block."""
        node: yaml.Node = self.root
        for step in path:
            found = _child(node, step)
            if found is None:
                return self.place(path)
            node = found[0]
        line, column = node.start_mark.line, node.start_mark.column
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            return Place(*_block_begin(node), file=self.file)
        if isinstance(node, yaml.ScalarNode) and node.style in ("'", '"'):
            column += 1
        return Place(line + 1, column + 1, file=self.file)

    def known(self, path: Sequence[str | int]) -> str:
        """Returns the existing part of `path`, separated by dots."""
        return ".".join(str(step) for step, _ in self._walk(path))

    def _walk(self, path: Sequence[str | int]) -> Iterator[tuple[str | int, yaml.Mark]]:
        node = self.root
        for step in path:
            found = _child(node, step)
            if found is None:
                return
            node, mark = found
            yield step, mark


def _block_begin(node: yaml.ScalarNode) -> tuple[int, int]:
    """Returns line and column of the first line with text in a block scalar."""
    begin, end = node.start_mark, node.end_mark
    lines = str(begin.buffer)[begin.pointer : end.pointer].split("\n")[1:]
    for number, line in enumerate(lines):
        if text := line.lstrip(" "):
            return begin.line + number + 2, len(line) - len(text) + 1
    return begin.line + 1, begin.column + 1


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Mark] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value, key.start_mark
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child = node.value[step]
        return child, child.start_mark
    return None


class YamlError(Exception):
    """A text is not YAML, or contains a construct that is not allowed."""

    def __init__(self, fault: Fault, cause: str, fix: str = "", place: Place | None = None) -> None:
        super().__init__(fault, cause, fix, place)
        self.fault = fault
        self.cause = cause
        self.fix = fix
        self.place = place


def read(text: str, file: str) -> list[Document]:
    """Returns the documents of a text, in order. Raises YamlError."""
    try:
        return list(_documents(Loader(text), file))
    except RejectedError as error:
        at = Place(error.mark.line + 1, error.mark.column + 1, file=file)
        raise YamlError(error.fault, error.cause, error.fix, at) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1, file=file) if mark else None
        cause = f"the file is not YAML: {error.problem or error.context}."
        fix = "Correct what is before this place: indentation, brackets, quotes."
        if r"'\t'" in cause:
            fix = "Indent with spaces, not with tabs."
        raise YamlError(Fault.SYNTAX, cause, fix, place) from None
    except yaml.YAMLError as error:
        raise YamlError(Fault.SYNTAX, f"{file} is not YAML: {error}") from None


def _documents(loader: Loader, file: str) -> Iterator[Document]:
    while loader.check_node():
        root = loader.get_node()
        if root is None:
            continue
        _check_keys(root, file)
        yield Document(loader.construct_document(root), root, file)


def _place(node: yaml.Node, file: str) -> Place:
    mark = node.start_mark
    return Place(mark.line + 1, mark.column + 1, file=file)


def _check_keys(node: yaml.Node, file: str) -> None:
    """Rejects duplicate keys, of which YAML would use the last; converts keys to strings."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _check_keys(child, file)
    if isinstance(node, yaml.MappingNode):
        seen: set[object] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise YamlError(
                    Fault.SYNTAX,
                    "a key must be a string, not a list or mapping.",
                    "Put it in quotes if braces or brackets are part of it.",
                    _place(key, file),
                )
            if key.value in seen:
                raise YamlError(
                    Fault.DUPLICATE_KEY,
                    f"the key {key.value!r} is repeated.",
                    "Remove one.",
                    _place(key, file),
                )
            seen.add(key.value)
            if key.tag != _MERGE:
                key.tag = _TEXT  # 1, 1.0 and true would be one key
            _check_keys(value, file)
