"""Ways through a plan."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.nodes import IntervalJoin, Node, Select, Source


def nodes_of(node: Node) -> Iterator[Node]:
    """A node and all below it, from the sink's side to the sources."""
    yield node
    if isinstance(node, Select):
        yield from nodes_of(node.input)
    elif isinstance(node, IntervalJoin):
        yield from nodes_of(node.left.node)
        yield from nodes_of(node.right.node)


def joins_of(node: Node) -> tuple[IntervalJoin, ...]:
    return tuple(found for found in nodes_of(node) if isinstance(found, IntervalJoin))


def sources_of(node: Node) -> tuple[Source, ...]:
    """Every source once, in the order the query names them."""
    found = (source for source in nodes_of(node) if isinstance(source, Source))
    return tuple(dict.fromkeys(found))
