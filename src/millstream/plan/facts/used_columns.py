"""Finds the columns of a source that a plan can read; others need not be read from files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from millstream.plan.expressions import Expression
from millstream.plan.nodes import Node, Source


def used_columns(root: Node, source: Source) -> tuple[str, ...]:
    """Returns the columns of a source, and its system columns, whose names occur in the plan, in
    any stream."""
    names = {source.time.lower()} if source.time else set()
    star = False
    for each in references(root):
        if isinstance(each, str):
            names.add(each.lower())
        elif each.has_star:
            star = True
        else:
            names |= {reference.name.lower() for reference in each.columns}
    declared = [c.name for c in source.columns if star or c.name.lower() in names]
    own = {column.name.lower() for column in source.columns}
    hidden = [name for name, _ in source.system_columns if name in names and name not in own]
    return (*declared, *hidden)


def references(value: Any) -> Iterator[str | Expression]:
    """Yields the expressions in a value, and strings such as the names of columns in state."""
    if isinstance(value, str | Expression):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from references(each)
    elif is_dataclass(value) and not isinstance(value, Source):
        for each in fields(value):
            if each.name != "place":
                yield from references(getattr(value, each.name))
