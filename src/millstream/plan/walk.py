"""Ways through a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from millstream.plan.nodes import Input, IntervalJoin, Job, Node, Select, Source


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


def with_sources(job: Job, change: Callable[[Source], Source]) -> Job:
    """The job with every source replaced, as a test does that brings its own rows."""
    pipelines = (
        replace(pipeline, root=_changed_select(pipeline.root, change)) for pipeline in job.pipelines
    )
    return replace(job, pipelines=tuple(pipelines))


def _changed_select(select: Select, change: Callable[[Source], Source]) -> Select:
    below = select.input
    if isinstance(below, IntervalJoin):
        left, right = (_changed_side(side, change) for side in (below.left, below.right))
        return replace(select, input=replace(below, left=left, right=right))
    return replace(select, input=_changed_stream(below, change))


def _changed_side(side: Input, change: Callable[[Source], Source]) -> Input:
    return replace(side, node=_changed_stream(side.node, change))


def _changed_stream(node: Source | Select, change: Callable[[Source], Source]) -> Source | Select:
    return change(node) if isinstance(node, Source) else _changed_select(node, change)
