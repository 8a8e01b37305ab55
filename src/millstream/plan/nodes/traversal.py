"""Functions that traverse and replace the nodes of a plan."""

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
    SingleInput,
    Source,
    TableJoin,
    UnionAll,
)

Stream = TypeVar("Stream", bound=Node)
Stateless = Source | Select | TableJoin | UnionAll


def inputs_of(operator: Operator | TableJoin) -> tuple[Input, ...]:
    """Returns the streams that an operator reads; a table is not one."""
    if isinstance(operator, TableJoin):
        return (operator.left,)
    if isinstance(operator, Join):
        return operator.left, operator.right
    return (operator.input,)


def children_of(node: Node) -> tuple[Node, ...]:
    """Returns the nodes that a node reads."""
    if isinstance(node, Source):
        return ()
    if isinstance(node, Select):
        return (node.input,)
    if isinstance(node, UnionAll):
        return node.inputs
    return tuple(side.node for side in inputs_of(node))


def nodes_of(node: Node) -> Iterator[Node]:
    """Yields a node and all below it, from the sink to the sources."""
    yield node
    for each in children_of(node):
        yield from nodes_of(each)


def operators_of(node: Node) -> tuple[Operator, ...]:
    """Returns all stateful nodes, from the sink to the sources."""
    return tuple(found for found in nodes_of(node) if not isinstance(found, Stateless))


def nodes_in_order(node: Node) -> Iterator[Node]:
    """Yields a node and all below it, each after those that it reads, the left side first."""
    for each in children_of(node):
        yield from nodes_in_order(each)
    yield node


def table_joins_of(node: Node) -> tuple[TableJoin, ...]:
    """Returns all table joins, each after the nodes that it reads."""
    return tuple(found for found in nodes_in_order(node) if isinstance(found, TableJoin))


def reference_tables_of(root: Node | Job) -> tuple[ReferenceTable, ...]:
    """Returns the distinct reference tables."""
    roots = [pipeline.root for pipeline in root.pipelines] if isinstance(root, Job) else [root]
    found = (join.table for each in roots for join in table_joins_of(each))
    return tuple(dict.fromkeys(found))


def sources_of(node: Node) -> tuple[Source, ...]:
    """Returns the distinct sources, in the order of the query."""
    found = (source for source in nodes_of(node) if isinstance(source, Source))
    return tuple(dict.fromkeys(found))


def can_retract(node: Node) -> bool:
    """Returns whether a stream can retract rows. Stateless steps pass retractions on."""
    return upstream_of(node).retracts


def upstream_of(node: Node) -> Source | UnionAll | Operator:
    """Returns the nearest source, UNION ALL or stateful operator upstream."""
    while isinstance(node, Select | TableJoin):
        node = step_input(node)
    return node


def upsert_source_of(node: Node) -> Source | None:
    """Returns the source of upserts whose current rows are the rows of a node, or None
    (`build/upsert_source.py`)."""
    latest = upstream_of(node)
    read = upstream_of(latest.input.node) if isinstance(latest, SingleInput) else None
    return read if isinstance(read, Source) and read.upsert_key else None


def step_input(node: Select | TableJoin) -> Node:
    """Returns the node that a stateless step reads."""
    return node.left.node if isinstance(node, TableJoin) else node.input


def with_sources(job: Job, change: Callable[[Source], Source]) -> Job:
    """Returns the job with every source replaced, as in tests that supply their own rows."""
    return _change_job(job, _Changes(source=change))


def with_reference_tables(job: Job, change: Callable[[ReferenceTable], ReferenceTable]) -> Job:
    """Returns the job with every reference table replaced."""
    return _change_job(job, _Changes(reference=change))


@dataclass(frozen=True, slots=True)
class _Changes:
    source: Callable[[Source], Source] = lambda source: source
    reference: Callable[[ReferenceTable], ReferenceTable] = lambda table: table
    operators: Mapping[Operator, Operator] = field(default_factory=dict)


def with_operators(root: Select, operators: Mapping[Operator, Operator]) -> Select:
    """Returns the plan with operators replaced by others of the same kind."""
    return _change_node(root, _Changes(operators=operators))


def _change_job(job: Job, change: _Changes) -> Job:
    pipelines = (
        replace(pipeline, root=_change_node(pipeline.root, change)) for pipeline in job.pipelines
    )
    return replace(job, pipelines=tuple(pipelines))


def _change_node(node: Stream, change: _Changes) -> Stream:
    """Returns a node of the same kind over changed inputs."""
    changed: Node
    if not isinstance(node, Stateless):
        node = change.operators.get(node, node)  # type: ignore[assignment]  # of the same kind
    if isinstance(node, Source):
        changed = change.source(node)
    elif isinstance(node, Select):
        changed = replace(node, input=_change_node(node.input, change))
    elif isinstance(node, UnionAll):
        changed = replace(node, inputs=tuple(_change_node(each, change) for each in node.inputs))
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
