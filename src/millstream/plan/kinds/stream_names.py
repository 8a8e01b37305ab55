"""Names of streams in `explain` and errors, and their delay behind the sources."""

from __future__ import annotations

from millstream.plan.nodes import Input, Join, Node, Select, Source, UnionAll
from millstream.plan.nodes.traversal import inputs_of, operators_of, upstream_of


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
    if not any(operators_of(side.node) for side in sides):
        return None
    return max(delay_behind_sources(side) for side in sides)


def delay_behind_sources(side: Input) -> int:
    """Returns how far the watermark of an input is behind its sources."""
    return side.delay + _delay_of_operators(side.node)


def _delay_of_operators(node: Node) -> int:
    """Returns the delay that the operators below the next one upstream add."""
    below = upstream_of(node)
    if isinstance(below, Source):
        return 0
    if isinstance(below, UnionAll):
        return max(_delay_of_operators(each) for each in below.inputs)
    return max(delay_behind_sources(each) for each in inputs_of(below))
