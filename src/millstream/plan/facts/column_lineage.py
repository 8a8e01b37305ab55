"""Traces the columns of a stream to the inner join below, through SELECTs that only rename."""

from __future__ import annotations

from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import Input, Join, Node, Select, Source

ColumnOrigins = dict[str, tuple[int, str]]  # by name: the side, and the name there


def trace_to_join(node: Source | Select) -> tuple[Join, ColumnOrigins] | None:
    """Returns the inner join below SELECTs that only choose and rename, and the column origins."""
    if not isinstance(node, Select) or node.where is not None:
        return None
    below: Node = node.input
    if isinstance(below, Join):
        if not join_kind_of(below).stays_in_group(below):
            return None
        sides = (below.left, below.right)
        found = {
            output.name: (number, name)
            for output in node.outputs
            for number, side in enumerate(sides)
            if (name := output.expression.column_of(side.alias, qualified=True)) in side.used
        }
        return below, found
    if not isinstance(below, Select):
        return None
    inner = trace_to_join(below)
    if inner is None:
        return None
    join, columns = inner
    names = {output.name: output.expression.column_of(node.alias) for output in node.outputs}
    return join, {name: columns[old] for name, old in names.items() if old in columns}


def equal_columns(side: Input, name: str | None) -> set[str | None]:
    """Returns the columns of an input that equal a given one, because a join compared them."""
    found = trace_to_join(side.node)
    if found is None or name not in found[1]:
        return {name}
    below, columns = found
    inputs = (below.left, below.right)
    same = {columns[name]}
    for key in below.keys:
        alike = {
            (number, each)
            for number, own in enumerate((key.left, key.right))
            for each in equal_columns(inputs[number], own.column_of(inputs[number].alias))
            if each is not None
        }
        if same & alike:
            same |= alike
    return {each for each, at in columns.items() if at in same}


def type_of(side: Input, name: str | None) -> str | None:
    """Returns the declared type of a column of an input in upper case, or None."""
    kinds = (column.type for column in side.node.columns if column.name == name)
    kind = next(kinds, None)
    return None if kind is None else kind.upper()
