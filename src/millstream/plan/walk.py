"""Ways through a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from millstream.plan.nodes import (
    Input,
    IntervalJoin,
    Job,
    Node,
    Operator,
    Select,
    Source,
    TemporalJoin,
)

Stream = TypeVar("Stream", bound=Node)


def inputs_of(operator: Operator) -> tuple[Input, ...]:
    if isinstance(operator, IntervalJoin | TemporalJoin):
        return operator.left, operator.right
    return (operator.input,)


def below(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    if isinstance(node, Source):
        return ()
    if isinstance(node, Select):
        return (node.input,)
    return tuple(side.node for side in inputs_of(node))


def nodes_of(node: Node) -> Iterator[Node]:
    """A node and all below it, from the sink's side to the sources."""
    yield node
    for each in below(node):
        yield from nodes_of(each)


def operators_of(node: Node) -> tuple[Operator, ...]:
    """Every node that keeps state, from the sink's side to the sources."""
    return tuple(found for found in nodes_of(node) if not isinstance(found, Source | Select))


def operators_in_order(node: Node) -> tuple[Operator, ...]:
    """Every node that keeps state, each after those that it reads, the left side first."""
    found = [operator for each in below(node) for operator in operators_in_order(each)]
    return tuple(found) if isinstance(node, Source | Select) else (*found, node)


def joins_of(node: Node) -> tuple[IntervalJoin, ...]:
    return tuple(found for found in nodes_of(node) if isinstance(found, IntervalJoin))


def sources_of(node: Node) -> tuple[Source, ...]:
    """Every source once, in the order the query names them."""
    found = (source for source in nodes_of(node) if isinstance(source, Source))
    return tuple(dict.fromkeys(found))


def retracts(node: Node) -> bool:
    """May rows of a stream be taken back? A Select passes on what its input does."""
    while isinstance(node, Select):
        node = node.input
    return not isinstance(node, Source) and node.retracts


def bottom_of(node: Source | Select) -> Source | Operator:
    """What stands below all the Selects of a stream."""
    found: Node = node
    while isinstance(found, Select):
        found = found.input
    return found


def with_sources(job: Job, change: Callable[[Source], Source]) -> Job:
    """The job with every source replaced, as a test does that brings its own rows."""
    pipelines = (
        replace(pipeline, root=_changed(pipeline.root, change)) for pipeline in job.pipelines
    )
    return replace(job, pipelines=tuple(pipelines))


def _changed(node: Stream, change: Callable[[Source], Source]) -> Stream:
    """The same kind of node over the changed sources."""
    changed: Node
    if isinstance(node, Source):
        changed = change(node)
    elif isinstance(node, Select):
        changed = replace(node, input=_changed(node.input, change))
    elif isinstance(node, IntervalJoin | TemporalJoin):
        left, right = (_side(side, change) for side in (node.left, node.right))
        changed = replace(node, left=left, right=right)
    else:
        changed = replace(node, input=_side(node.input, change))
    return changed  # type: ignore[return-value]  # a node is replaced by one of its own kind


def _side(side: Input, change: Callable[[Source], Source]) -> Input:
    return replace(side, node=_changed(side.node, change))
