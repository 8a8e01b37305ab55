"""How far apart two times of one row can be, as the joins that made the row bound it."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.expressions import ColumnReference, Expression
from millstream.plan.expressions.shapes import either_column
from millstream.plan.kinds import join_kind_of
from millstream.plan.kinds.open_bounds import NONE_APART, OpenBounds
from millstream.plan.nodes import WINDOW_TIME, Join, Node, Select, Source, TableJoin


def columns_of(join: Join, expression: Expression) -> list[tuple[int, str]]:
    """The columns of a join's sides, each with the side's number, that an expression is: one, or
    the first of two that is there."""
    found = either_column(expression)
    return [each for reference in found for each in _columns_of(join, reference)]


def _columns_of(join: Join, reference: ColumnReference) -> Iterator[tuple[int, str]]:
    for number, side in enumerate((join.left, join.right)):
        names = {column.name for column in side.node.columns} | {side.time or "", *side.used}
        if side.alias == reference.alias and reference.name in names:
            yield number, reference.name


def ahead_of_own(join: Join, number: int, name: str) -> OpenBounds:
    """How far a column of a side is after the time that the join goes by there."""
    side = (join.left, join.right)[number]
    if name == side.time:
        return NONE_APART
    if side.time is None:
        return OpenBounds()
    times = join_kind_of(join).window_times(join, number)
    if times is None or side.progress is None:
        return between(side.node, side.time, name)
    if name == WINDOW_TIME:
        return times.window
    return times.row + between(side.node, side.progress, name)


def between(node: Node, one: str, other: str) -> OpenBounds:
    """How far the column `other` of a stream is after its column `one`."""
    if one == other:
        return NONE_APART
    if not isinstance(node, Select):
        return OpenBounds()
    outputs = {output.name: output.expression for output in node.outputs}
    if one not in outputs or other not in outputs:
        return OpenBounds()
    below = node.input
    if isinstance(below, Join):
        return _over_join(below, outputs[one], outputs[other])
    alias = node.alias
    if isinstance(below, Source | Select):
        stream = below
    elif isinstance(below, TableJoin):
        stream, alias = below.left.node, below.left.alias
    else:
        stream = below.input.node
    references = (outputs[name].column for name in (one, other))
    found = [_column(each, alias, stream) for each in references]
    if found[0] is None or found[1] is None:
        return OpenBounds()
    return between(stream, found[0], found[1])


def _column(
    reference: ColumnReference | None, alias: str | None, stream: Source | Select
) -> str | None:
    if reference is None or reference.alias != (alias or None):
        return None
    return next((each.name for each in stream.columns if each.name == reference.name), None)


def _over_join(join: Join, one: Expression, other: Expression) -> OpenBounds:
    """From each column that `one` may be to each that `other` may be."""
    found: OpenBounds | None = None
    for from_number, from_name in columns_of(join, one):
        for to_number, to_name in columns_of(join, other):
            gap = _across(join, (from_number, from_name), (to_number, to_name))
            found = gap if found is None else found | gap
    return found or OpenBounds()


def _across(join: Join, one: tuple[int, str], other: tuple[int, str]) -> OpenBounds:
    start, end = ahead_of_own(join, *one), ahead_of_own(join, *other)
    if one[0] == other[0]:
        side = (join.left, join.right)[one[0]]
        return (-start + end) & between(side.node, one[1], other[1])
    sides = join_kind_of(join).apart(join)
    return -start + (sides if one[0] == 0 else -sides) + end
