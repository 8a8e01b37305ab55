"""YAML with places: values as plain Python, and for each the line and column it stands at.

Plain words stay words. YAML 1.1 would read the country code NO as false, the time 10:30 as 630 and
the order number 007 as 7; here they are text, as in YAML 1.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from millstream.errors import HarnessError, Place

_BOOL, _INT, _FLOAT, _TIME = (
    f"tag:yaml.org,2002:{kind}" for kind in ("bool", "int", "float", "timestamp")
)


class _Loader(yaml.SafeLoader):
    """Resolves true, false and decimal numbers, and nothing that looks like a trap."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _INT, _FLOAT)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver(_INT, re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"^(?:[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+.0123456789"),
)


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
        return list(_documents(_Loader(text), file))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise HarnessError(
            "MS-TEST-YAML",
            f"the file is not YAML: {error.problem or error.context}.",
            place=Place(mark.line + 1, mark.column + 1, file=file) if mark else None,
        ) from None
    except yaml.YAMLError as error:
        raise HarnessError("MS-TEST-YAML", f"{file} is not YAML: {error}") from None


def _documents(loader: _Loader, file: str) -> Iterator[Document]:
    while loader.check_node():
        root = loader.get_node()
        if root is None:
            continue
        _refuse_doubles(root, file)
        _refuse_no_dates(loader, root, file)
        yield Document(loader.construct_document(root), root, file)


def _refuse_no_dates(loader: _Loader, node: yaml.Node, file: str) -> None:
    """What looks like a date and is none: 2026-02-30."""
    if isinstance(node, yaml.ScalarNode) and node.tag == _TIME:
        try:
            loader.construct_yaml_timestamp(node)
        except ValueError as error:
            raise HarnessError(
                "MS-TEST-VALUE",
                f"{node.value} is no time: {error}.",
                fix="Mend it, or put it in quotes if it is a text.",
                place=_place(node, file),
            ) from None
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_no_dates(loader, child, file)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _refuse_no_dates(loader, key, file)
            _refuse_no_dates(loader, value, file)


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
