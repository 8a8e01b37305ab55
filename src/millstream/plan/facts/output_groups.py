"""The output groups of a query with several outputs: which operators it computes, each once.

Outputs with the same last operator or, without an operator, the same source form a group: their
common steps are computed once, and the rows are copied to each output. If an operator of an earlier
group occurs in a later one, the later one reads its results instead of computing them again:

    CREATE STREAM matched AS … JOIN …         group 1: the join     ─▶ sinks a and b
    sinks a and b: SELECT … FROM matched                  └─ results
    sink c: SELECT count(*) FROM matched …    group 2: aggregate ◀─┘ ─▶ sink c

An output group reads at most one earlier operator, the largest one. Others are computed again, with
the same results, since all groups of a query process the same micro-batches. Non-deterministic
expressions are evaluated once per group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.plan.nodes import (
    Node,
    Operator,
    Query,
    ReferenceTable,
    Select,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.plan.nodes.traversal import (
    Stateless,
    children_of,
    nodes_of,
    operators_of,
    reference_tables_of,
    sources_of,
    step_input,
    upstream_of,
)


@dataclass(frozen=True, slots=True)
class OutputGroup:
    """Outputs with common steps.

    Attributes:
        outputs: Their numbers in the query.
        root: The last node that all of them read.
        shared: The operator of an earlier group whose results this group reads.
    """

    outputs: tuple[int, ...]
    root: Node
    shared: Operator | None = None

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators that the group computes, from the sink to the sources."""
        return tuple(_operators(self.root, [self.shared]))

    @property
    def source(self) -> Source | None:
        """The source, if the group has no operator."""
        found = upstream_of(self.root)
        return found if isinstance(found, Source) else None


def output_groups_of(query: Query) -> tuple[OutputGroup, ...]:
    """Returns the groups of a query, in the order of their first outputs."""
    grouped: dict[Source | UnionAll | Operator, list[int]] = {}
    for number, output in enumerate(query.outputs):
        grouped.setdefault(upstream_of(output.root), []).append(number)
    found: list[OutputGroup] = []
    computed: list[Operator] = []
    for numbers in grouped.values():
        root = _last_common_node([query.outputs[number].root for number in numbers])
        candidates = [each for each in operators_of(root) if each in computed]
        shared = max(candidates, key=lambda each: len(operators_of(each)), default=None)
        found.append(OutputGroup(tuple(numbers), root, shared))
        computed += found[-1].operators
    return tuple(found)


def query_operators(query: Query) -> tuple[Operator, ...]:
    """Returns every operator that a query computes. Its index is its number."""
    return tuple(each for group in output_groups_of(query) for each in group.operators)


def operator_order(query: Query) -> tuple[int, ...]:
    """Returns the numbers of a query's operators, each after those that it reads."""
    found: list[int] = []
    for group in output_groups_of(query):
        count = len(group.operators)
        found += reversed(range(len(found), len(found) + count))
    return tuple(found)


def query_sources(query: Query) -> tuple[Source, ...]:
    """Returns the distinct sources of a query."""
    found = (source for output in query.outputs for source in sources_of(output.root))
    return tuple(dict.fromkeys(found))


def query_references(query: Query) -> tuple[ReferenceTable, ...]:
    """Returns the distinct reference tables of a query."""
    found = (table for output in query.outputs for table in reference_tables_of(output.root))
    return tuple(dict.fromkeys(found))


def steps_above(root: Node, common: Node) -> tuple[Select | TableJoin, ...]:
    """Returns the stateless steps from `common` to an output, in the order of processing."""
    found: list[Select | TableJoin] = []
    node = root
    while node != common:
        assert isinstance(node, Select | TableJoin)
        found.append(node)
        node = step_input(node)
    return tuple(reversed(found))


def _last_common_node(roots: list[Select]) -> Node:
    """Returns the last node that all roots read; with one root, the root itself."""
    chains = [_steps_of(root) for root in roots]
    shared: Node = chains[0][0]
    for nodes in zip(*chains, strict=False):
        if any(not _is_same_stream(node, nodes[0]) for node in nodes):
            break
        shared = nodes[0]
    return shared


def _is_same_stream(one: Node, other: Node) -> bool:
    """Returns whether two nodes are the same stream; two streams with equal SQL are not."""
    if isinstance(one, Select) and isinstance(other, Select) and one.stream != other.stream:
        return False
    return one == other


def _steps_of(root: Node) -> list[Node]:
    """Returns the stateless steps of an output, each after the node that it reads."""
    found = [root]
    while isinstance(node := found[-1], Select | TableJoin):
        found.append(step_input(node))
    return found[::-1]


def _operators(node: Node, skipped: list[Operator | None]) -> Iterator[Operator]:
    """Yields the operators below `node`, without the first occurrence of each in `skipped`."""
    if not isinstance(node, Stateless):
        if node in skipped:
            skipped.remove(node)
            return
        yield node
    for each in children_of(node):
        yield from _operators(each, skipped)


def named_streams(root: Node) -> set[str]:
    """Returns the names of the streams declared with CREATE STREAM that an output reads."""
    return {node.stream for node in nodes_of(root) if isinstance(node, Select) and node.stream}


def computed_named_streams(group: OutputGroup) -> set[Select]:
    """Returns the streams declared with CREATE STREAM that a group computes itself."""
    skipped = [group.shared]

    def walk(node: Node) -> Iterator[Select]:
        if not isinstance(node, Stateless) and node in skipped:
            skipped.remove(node)
            return
        if isinstance(node, Select) and node.stream:
            yield node
        for each in children_of(node):
            yield from walk(each)

    return set(walk(group.root))
