"""Derives how far apart two times of a row can be, from the bounds of the joins below."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.expressions import ColumnReference, Expression
from millstream.plan.expressions.shapes import coalesced_columns
from millstream.plan.kinds import join_kind_of
from millstream.plan.kinds.time_bounds import ZERO_BOUNDS, TimeBounds
from millstream.plan.nodes import WINDOW_TIME, Join, Node, Select, Source, TableJoin, UnionAll


def side_columns_of(join: Join, expression: Expression) -> list[tuple[int, str]]:
    """Returns the columns of a join's sides that an expression is, with the sides' numbers.

    These are one column, or those of `coalesce(column, …)`.
    """
    found = coalesced_columns(expression)
    return [each for reference in found for each in _side_columns(join, reference)]


def _side_columns(join: Join, reference: ColumnReference) -> Iterator[tuple[int, str]]:
    for number, side in enumerate((join.left, join.right)):
        names = {column.name for column in side.node.columns} | {side.time or "", *side.used}
        if side.alias == reference.alias and reference.name in names:
            yield number, reference.name


def offset_from_join_time(join: Join, number: int, name: str) -> TimeBounds:
    """Returns how far a column of a side is after the time that the join uses on that side."""
    side = (join.left, join.right)[number]
    if name == side.time:
        return ZERO_BOUNDS
    if side.time is None:
        return TimeBounds()
    times = join_kind_of(join).window_times(join, number)
    if times is None or side.progress is None:
        return time_difference(side.node, side.time, name)
    if name == WINDOW_TIME:
        return times.window
    return times.row + time_difference(side.node, side.progress, name)


def time_difference(node: Node, one: str, other: str) -> TimeBounds:
    """Returns how far the column `other` of a stream is after its column `one`."""
    if one == other:
        return ZERO_BOUNDS
    if not isinstance(node, Select):
        return TimeBounds()
    outputs = {output.name: output.expression for output in node.outputs}
    if one not in outputs or other not in outputs:
        return TimeBounds()
    below = node.input
    if isinstance(below, Join):
        return _difference_over_join(below, outputs[one], outputs[other])
    alias = node.alias
    if isinstance(below, UnionAll):
        return TimeBounds()
    if isinstance(below, Source | Select):
        stream = below
    elif isinstance(below, TableJoin):
        stream, alias = below.left.node, below.left.alias
    else:
        stream = below.input.node
    references = (outputs[name].column for name in (one, other))
    found = [_column_name(each, alias, stream) for each in references]
    if found[0] is None or found[1] is None:
        return TimeBounds()
    return time_difference(stream, found[0], found[1])


def _column_name(
    reference: ColumnReference | None, alias: str | None, stream: Source | Select
) -> str | None:
    if reference is None or reference.alias != (alias or None):
        return None
    return next((each.name for each in stream.columns if each.name == reference.name), None)


def _difference_over_join(join: Join, one: Expression, other: Expression) -> TimeBounds:
    """Returns bounds over each column that `one` can be and each that `other` can be."""
    found: TimeBounds | None = None
    for from_number, from_name in side_columns_of(join, one):
        for to_number, to_name in side_columns_of(join, other):
            gap = _difference_of_columns(join, (from_number, from_name), (to_number, to_name))
            found = gap if found is None else found | gap
    return found or TimeBounds()


def _difference_of_columns(join: Join, one: tuple[int, str], other: tuple[int, str]) -> TimeBounds:
    start, end = offset_from_join_time(join, *one), offset_from_join_time(join, *other)
    if one[0] == other[0]:
        side = (join.left, join.right)[one[0]]
        return (-start + end) & time_difference(side.node, one[1], other[1])
    sides = join_kind_of(join).time_bounds(join)
    return -start + (sides if one[0] == 0 else -sides) + end
