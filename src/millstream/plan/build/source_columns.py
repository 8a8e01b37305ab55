"""Removes columns that planning passes through the rows of a source and that nothing reads.

Windows, computed columns and system columns are SELECTs over all columns of a source. Columns that
the step above does not read are neither read from files nor part of the identity, so that a column
can be added to a source. What is removed depends on that step only: streams that several queries
share remain equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from millstream.plan.expressions import Expression
from millstream.plan.facts.used_columns import references
from millstream.plan.nodes import Input, Join, Node, Operator, Select, Source, TableJoin, UnionAll

_WINDOW = "_window"


def without_unread_columns(root: Select) -> Select:
    return replace(root, input=_pruned(root, root.input))


def _pruned(reader: Node, node: Node) -> Node:
    """Returns a node without columns of sources that `reader` and the nodes below do not read."""
    if isinstance(node, Source):
        return node
    if isinstance(node, Select):
        node = _read_columns(reader, node) if node.is_source else node
        return replace(node, input=_pruned(node, node.input))
    if isinstance(node, UnionAll):
        return replace(node, inputs=tuple(map(without_unread_columns, node.inputs)))
    if isinstance(node, TableJoin):
        return replace(node, left=_input(node, node.left))
    if isinstance(node, Join):
        return replace(node, left=_input(node, node.left), right=_input(node, node.right))
    return replace(node, input=_input(node, node.input))


def _input(reader: Operator | TableJoin, side: Input) -> Input:
    node = _pruned(reader, side.node)
    assert isinstance(node, Source | Select)
    return replace(side, node=node)


def _read_columns(reader: Node, node: Select) -> Select:
    names = {name for name in (node.time, *(node.window or ())) if name is not None}
    for each in _own_references(reader):
        if isinstance(each, str):
            names.add(each.lower())
        elif each.has_star:
            return node
        else:
            names |= {column.name.lower() for column in each.columns}
    read = tuple(
        output
        for output in node.outputs
        if output.expression.column is None
        or output.name in names
        or output.name.lower() in names
        or output.name.startswith(_WINDOW)
    )
    return replace(node, outputs=read or node.outputs[:1])


def _own_references(reader: Node) -> Iterator[str | Expression]:
    """Yields what a node reads of its inputs, without what is read below them."""
    for each in fields(reader):
        value = getattr(reader, each.name)
        if isinstance(value, Input):
            yield from references((value.alias, value.time, value.used, value.progress))
        elif each.name not in ("input", "inputs", "place"):
            yield from references(value)
