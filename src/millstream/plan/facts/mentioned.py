"""Which columns of its sources a plan may speak of: others need not be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from millstream.plan.nodes import Node, Source

_STAR = re.compile(r"(^|[(,.])\s*\*")  # not where it multiplies
_WORD = re.compile(r"`[^`]+`|\w+")


def mentioned(root: Node, source: Source) -> tuple[str, ...]:
    """Columns of a source whose names are words of a text of the plan, in whatever meaning."""
    words = {source.time.lower()} if source.time else set()
    for text in _texts(root):
        if _STAR.search(text) or "``" in text:
            return tuple(column.name for column in source.columns)
        words |= {text.lower(), *(word.strip("`").lower() for word in _WORD.findall(text))}
    return tuple(column.name for column in source.columns if column.name.lower() in words)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts(each)
    elif is_dataclass(value) and not isinstance(value, Source):
        for each in fields(value):
            if each.name != "place":
                yield from _texts(getattr(value, each.name))
