"""How far apart two times of one row can be, as the joins that made the row bound it."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.joins.gaps import NONE_APART, OpenBounds
from millstream.plan.joins.window_pairs import pair_of
from millstream.plan.names.names import quote
from millstream.plan.nodes import BoundedJoin, Join, Node, Select, Source, TableJoin, WindowJoin


def columns_of(join: Join, text: str) -> list[tuple[int, str]]:
    """The columns of a join's sides, each with the side's number, that a text is made of: one, or
    the first of two that is there."""
    if text.startswith("coalesce("):
        parts = text.removeprefix("coalesce(").removesuffix(")").split(", ")
        return [found for part in parts for found in columns_of(join, part)]
    return list(_columns_of(join, text))


def _columns_of(join: Join, text: str) -> Iterator[tuple[int, str]]:
    for number, side in enumerate((join.left, join.right)):
        names = {column.name for column in side.node.columns} | {side.time or "", *side.used}
        for name in names:
            if text == f"{quote(side.alias)}.{quote(name)}":
                yield number, name


def ahead_of_own(join: Join, number: int, name: str) -> OpenBounds:
    """How far a column of a side is after the time that the join goes by there."""
    side = (join.left, join.right)[number]
    if name == side.time:
        return NONE_APART
    if side.time is None:
        return OpenBounds()
    if not isinstance(join, WindowJoin) or side.progress is None:
        return between(side.node, side.time, name)
    pair = pair_of(*join.windows, join.how, ("", ""), None)
    back = -(join.lateness + pair.later[number])
    until = OpenBounds(back, back)
    if name == "_window_time":
        return until
    inside = OpenBounds(-(pair.panes[number].size - 1), 0)
    return until + inside + between(side.node, side.progress, name)


def between(node: Node, one: str, other: str) -> OpenBounds:
    """How far the column `other` of a stream is after its column `one`."""
    if one == other:
        return NONE_APART
    if not isinstance(node, Select):
        return OpenBounds()
    texts = {output.name: output.sql for output in node.outputs}
    if one not in texts or other not in texts:
        return OpenBounds()
    below = node.input
    if isinstance(below, Join):
        return _over_join(below, texts[one], texts[other])
    alias = node.alias
    if isinstance(below, Source | Select):
        stream = below
    elif isinstance(below, TableJoin):
        stream, alias = below.left.node, below.left.alias
    else:
        stream = below.input.node
    prefix = f"{quote(alias)}." if alias else ""
    found = [_bare(texts[name], prefix, stream) for name in (one, other)]
    if found[0] is None or found[1] is None:
        return OpenBounds()
    return between(stream, found[0], found[1])


def _bare(text: str, prefix: str, stream: Source | Select) -> str | None:
    names = (column.name for column in stream.columns)
    return next((name for name in names if text == f"{prefix}{quote(name)}"), None)


def _over_join(join: Join, one: str, other: str) -> OpenBounds:
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
    if not isinstance(join, BoundedJoin):
        return OpenBounds()
    sides = OpenBounds(join.bounds.lower, join.bounds.upper)
    return -start + (sides if one[0] == 0 else -sides) + end
