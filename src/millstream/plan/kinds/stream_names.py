"""Names of streams in `explain` and errors, and their delay behind the sources."""

from __future__ import annotations

from millstream.plan.nodes import Input, Join, Node, Select, Source
from millstream.plan.nodes.traversal import inputs_of, upstream_of


def node_name(node: Node, alias: str) -> str:
    """Returns the name of a stream: a source's name, otherwise the alias."""
    return node.name if isinstance(node, Source) else alias


def input_name(side: Input) -> str:
    """Returns the name of the stream that an operator reads."""
    return node_name(side.node, side.alias)


def stream_name(side: Input) -> str:
    """Returns the name of the user's stream below windows and filters that the planner added."""
    node: Node = side.node
    while isinstance(node, Select) and node.alias == side.alias:
        node = node.input
    return node_name(node, side.alias)


def with_alias(name: str, alias: str) -> str:
    return name if name == alias else f"{name} {alias}"


def results_delay(join: Join) -> int | None:
    """Returns how far the watermark of a join of results is behind the sources.

    The delays of the operators below are added; the other side waits for them. None for a join of
    sources.
    """
    sides = (join.left, join.right)
    if all(isinstance(upstream_of(side.node), Source) for side in sides):
        return None
    return max(delay_behind_sources(side) for side in sides)


def delay_behind_sources(side: Input) -> int:
    """Returns how far the watermark of an input is behind its sources."""
    below = upstream_of(side.node)
    if isinstance(below, Source):
        return side.delay
    return side.delay + max(delay_behind_sources(each) for each in inputs_of(below))
