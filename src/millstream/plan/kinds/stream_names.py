"""What a stream is called in explanations and errors, and how far it is behind its sources."""

from __future__ import annotations

from millstream.plan.nodes import Input, Join, Node, Select, Source
from millstream.plan.nodes.traversal import upstream_of, inputs_of


def node_name(node: Node, alias: str) -> str:
    """What a stream is called: a source by its name, anything else by its alias."""
    return node.name if isinstance(node, Source) else alias


def input_name(side: Input) -> str:
    """The name of the stream that an operator reads."""
    return node_name(side.node, side.alias)


def stream_name(side: Input) -> str:
    """What a stream is called that the planner has given windows or a filter, under its alias."""
    node: Node = side.node
    while isinstance(node, Select) and node.alias == side.alias:
        node = node.input
    return node_name(node, side.alias)


def with_alias(name: str, alias: str) -> str:
    return name if name == alias else f"{name} {alias}"


def results_delay(join: Join) -> int | None:
    """How far the watermark of a join of results is behind their sources: the operators below add
    up, and the other side waits for them. None for a join of sources."""
    sides = (join.left, join.right)
    if all(isinstance(upstream_of(side.node), Source) for side in sides):
        return None
    return max(delay_behind_sources(side) for side in sides)


def delay_behind_sources(side: Input) -> int:
    """How far the watermark of an input is behind its sources."""
    below = upstream_of(side.node)
    if isinstance(below, Source):
        return side.delay
    return side.delay + max(delay_behind_sources(each) for each in inputs_of(below))
