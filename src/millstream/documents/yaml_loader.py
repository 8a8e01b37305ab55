"""A YAML loader with bounded depth and size, and without implicit conversions of words.

Plain words are strings. YAML 1.1 would read the country code NO as false, the time 10:30 as 630 and
the order number 007 as 7; this loader reads them as strings.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import yaml

from millstream.sql.limits import (
    MAX_NESTING,
    MAX_YAML_CHARACTERS,
    describe_character,
    find_invalid_character,
)

_BOOL, _INT, _FLOAT = (f"tag:yaml.org,2002:{kind}" for kind in ("bool", "int", "float"))
_UNREADABLE = (ValueError, KeyError, AttributeError, TypeError, OverflowError)


class Fault(StrEnum):
    """The kinds of errors in a YAML text."""

    SYNTAX = "syntax"
    VALUE = "value"
    DUPLICATE_KEY = "duplicate_key"
    SIZE = "size"


class RejectedError(Exception):
    """A YAML construct that is not allowed."""

    def __init__(self, fault: Fault, cause: str, mark: Any, fix: str = "") -> None:
        super().__init__(fault, cause, mark, fix)
        self.fault = fault
        self.cause = cause
        self.mark = mark
        self.fix = fix


class Loader(yaml.SafeLoader):
    """Resolves only true, false and decimal numbers."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # of nodes by id, with aliases expanded
        self._previous_size = 0  # of all previous documents

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if parent is None:
            self._sizes.clear()
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            self._reject_recursion(event)
        self._depth += 1
        if self._depth > MAX_NESTING:
            cause = f"the file is nested more than {MAX_NESTING} levels deep here."
            raise RejectedError(Fault.SIZE, cause, event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None:
            self._measure(node, event)
            if parent is None:
                self._previous_size += self._sizes[id(node)]
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except _UNREADABLE as error:
            shown = str(node.value)[:40]
            kind = node.tag.rpartition(":")[2]
            cause = f"{shown!r} is not a value of the type {kind}."
            if isinstance(error, ValueError) and kind == "timestamp":
                cause = f"{shown} is not a valid time: {error}."
            fix = "Correct it, or put it in quotes if it is a string."
            raise RejectedError(Fault.VALUE, cause, node.start_mark, fix) from None

    def _reject_recursion(self, event: yaml.AliasEvent) -> None:
        node = self.anchors.get(event.anchor)
        if node is not None and id(node) not in self._sizes:
            cause = f"the anchor &{event.anchor} contains itself."
            raise RejectedError(Fault.SYNTAX, cause, event.start_mark)

    def _measure(self, node: yaml.Node, event: yaml.Event) -> None:
        """Computes the size of a node from the sizes of its parts, and rejects large files."""
        if id(node) not in self._sizes:
            if isinstance(node, yaml.ScalarNode):
                self._reject_no_text(node)
                size = len(node.value) + 1
            elif isinstance(node, yaml.MappingNode):
                size = 1 + sum(self._sizes[id(part)] for pair in node.value for part in pair)
            else:
                size = 1 + sum(self._sizes[id(part)] for part in node.value)
            self._sizes[id(node)] = size
        if self._previous_size + self._sizes[id(node)] > MAX_YAML_CHARACTERS:
            most = f"{MAX_YAML_CHARACTERS:,} characters"
            cause = f"with its aliases expanded, the file has more than {most}."
            raise RejectedError(Fault.SIZE, cause, event.start_mark)

    def _reject_no_text(self, node: yaml.ScalarNode) -> None:
        if found := find_invalid_character(node.value):
            cause = f"{describe_character(found[0])}."
            raise RejectedError(Fault.VALUE, cause, node.start_mark)


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _INT, _FLOAT)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(_BOOL, re.compile(r"^(?:true|false)$"), list("tf"))
Loader.add_implicit_resolver(_INT, re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"^(?:[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+.0123456789"),
)
