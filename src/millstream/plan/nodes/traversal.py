"""Ways through a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from millstream.plan.nodes import (
    Input,
    Job,
    Join,
    Node,
    Operator,
    ReferenceTable,
    Select,
    Source,
    TableJoin,
)

Stream = TypeVar("Stream", bound=Node)
Stateless = Source | Select | TableJoin


def inputs_of(operator: Operator | TableJoin) -> tuple[Input, ...]:
    """The streams that an operator reads; a table is none."""
    if isinstance(operator, TableJoin):
        return (operator.left,)
    if isinstance(operator, Join):
        return operator.left, operator.right
    return (operator.input,)


def children_of(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    if isinstance(node, Source):
        return ()
    if isinstance(node, Select):
        return (node.input,)
    return tuple(side.node for side in inputs_of(node))


def nodes_of(node: Node) -> Iterator[Node]:
    """A node and all below it, from the sink's side to the sources."""
    yield node
    for each in children_of(node):
        yield from nodes_of(each)


def operators_of(node: Node) -> tuple[Operator, ...]:
    """Every node that keeps state, from the sink's side to the sources."""
    return tuple(found for found in nodes_of(node) if not isinstance(found, Stateless))


def nodes_in_order(node: Node) -> Iterator[Node]:
    """A node and all below it, each after those that it reads, the left side first."""
    for each in children_of(node):
        yield from nodes_in_order(each)
    yield node


def operators_in_order(node: Node) -> tuple[Operator, ...]:
    """Every node that keeps state, each after those that it reads, the left side first."""
    return tuple(found for found in nodes_in_order(node) if not isinstance(found, Stateless))


def table_joins_of(node: Node) -> tuple[TableJoin, ...]:
    """Every join with a table, each after those that it reads."""
    return tuple(found for found in nodes_in_order(node) if isinstance(found, TableJoin))


def reference_tables_of(root: Node | Job) -> tuple[ReferenceTable, ...]:
    """Every table that rows are looked up in, once."""
    roots = [pipeline.root for pipeline in root.pipelines] if isinstance(root, Job) else [root]
    found = (join.table for each in roots for join in table_joins_of(each))
    return tuple(dict.fromkeys(found))


def sources_of(node: Node) -> tuple[Source, ...]:
    """Every source once, in the order the query names them."""
    found = (source for source in nodes_of(node) if isinstance(source, Source))
    return tuple(dict.fromkeys(found))


def can_retract(node: Node) -> bool:
    """May rows of a stream be taken back? A step without state passes on what its input does."""
    found = upstream_of(node)
    return not isinstance(found, Source) and found.retracts


def upstream_of(node: Node) -> Source | Operator:
    """What stands below all the steps of a stream that keep no state."""
    while isinstance(node, Select | TableJoin):
        node = step_input(node)
    return node


def step_input(node: Select | TableJoin) -> Node:
    """What a step without state reads."""
    return node.left.node if isinstance(node, TableJoin) else node.input


def with_sources(job: Job, change: Callable[[Source], Source]) -> Job:
    """The job with every source replaced, as a test does that brings its own rows."""
    return _change_job(job, _Changes(source=change))


def with_reference_tables(job: Job, change: Callable[[ReferenceTable], ReferenceTable]) -> Job:
    """The job with every table replaced that rows are looked up in."""
    return _change_job(job, _Changes(reference=change))


@dataclass(frozen=True, slots=True)
class _Changes:
    source: Callable[[Source], Source] = lambda source: source
    reference: Callable[[ReferenceTable], ReferenceTable] = lambda table: table
    operators: Mapping[Operator, Operator] = field(default_factory=dict)


def with_operators(root: Select, operators: Mapping[Operator, Operator]) -> Select:
    """The plan with operators replaced by others of the same kind."""
    return _change_node(root, _Changes(operators=operators))


def _change_job(job: Job, change: _Changes) -> Job:
    pipelines = (
        replace(pipeline, root=_change_node(pipeline.root, change)) for pipeline in job.pipelines
    )
    return replace(job, pipelines=tuple(pipelines))


def _change_node(node: Stream, change: _Changes) -> Stream:
    """The same kind of node over what was changed."""
    changed: Node
    if not isinstance(node, Stateless):
        node = change.operators.get(node, node)  # type: ignore[assignment]  # of the same kind
    if isinstance(node, Source):
        changed = change.source(node)
    elif isinstance(node, Select):
        changed = replace(node, input=_change_node(node.input, change))
    elif isinstance(node, TableJoin):
        changed = replace(
            node, left=_change_input(node.left, change), table=change.reference(node.table)
        )
    elif isinstance(node, Join):
        left, right = (_change_input(side, change) for side in (node.left, node.right))
        changed = replace(node, left=left, right=right)
    else:
        changed = replace(node, input=_change_input(node.input, change))
    return changed  # type: ignore[return-value]  # a node is replaced by one of its own kind


def _change_input(side: Input, change: _Changes) -> Input:
    return replace(side, node=_change_node(side.node, change))
