"""The branches of a query with several outputs: which operators it computes, each once.

Outputs whose last operator is the same, or that read the same source without one, form a branch:
what they have in common is computed once, and its rows are copied to each of them. If an operator
of an earlier branch occurs in a later one, the later one reads its results instead of computing
them again:

    CREATE STREAM matched AS … JOIN …         branch 1: the join     ─▶ sinks a and b
    sinks a and b: SELECT … FROM matched                  └─ results
    sink c: SELECT count(*) FROM matched …    branch 2: aggregate ◀─┘ ─▶ sink c

A branch reads one earlier operator at most, the largest one. Others are computed again, with the
same results, since all branches of a query process the same micro-batches. Expressions that are not
deterministic are evaluated once per branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.plan.nodes import Node, Operator, Query, ReferenceTable, Select, Source, TableJoin
from millstream.plan.nodes.traversal import (
    Stateless,
    children_of,
    upstream_of,
    nodes_of,
    operators_of,
    reference_tables_of,
    sources_of,
    step_input,
)


@dataclass(frozen=True, slots=True)
class Branch:
    """Outputs by their numbers in the query, and the node that they all read. `shared` is the
    operator of an earlier branch whose results it reads."""

    outputs: tuple[int, ...]
    root: Node
    shared: Operator | None = None

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators that it computes, from the sink's side to the sources."""
        return tuple(_operators(self.root, [self.shared]))

    @property
    def source(self) -> Source | None:
        """The source, if the branch has no operator."""
        found = upstream_of(self.root)
        return found if isinstance(found, Source) else None


def branches_of(query: Query) -> tuple[Branch, ...]:
    """The branches of a query, in the order of their first outputs."""
    grouped: dict[Source | Operator, list[int]] = {}
    for number, output in enumerate(query.outputs):
        grouped.setdefault(upstream_of(output.root), []).append(number)
    found: list[Branch] = []
    computed: list[Operator] = []
    for numbers in grouped.values():
        root = _last_common_node([query.outputs[number].root for number in numbers])
        candidates = [each for each in operators_of(root) if each in computed]
        shared = max(candidates, key=lambda each: len(operators_of(each)), default=None)
        found.append(Branch(tuple(numbers), root, shared))
        computed += found[-1].operators
    return tuple(found)


def query_operators(query: Query) -> tuple[Operator, ...]:
    """Every operator that a query computes. Its place in the tuple is its number."""
    return tuple(each for branch in branches_of(query) for each in branch.operators)


def operator_order(query: Query) -> tuple[int, ...]:
    """The numbers of a query's operators, each after those that it reads."""
    found: list[int] = []
    for branch in branches_of(query):
        count = len(branch.operators)
        found += reversed(range(len(found), len(found) + count))
    return tuple(found)


def query_sources(query: Query) -> tuple[Source, ...]:
    """Every source of a query once."""
    found = (source for output in query.outputs for source in sources_of(output.root))
    return tuple(dict.fromkeys(found))


def query_references(query: Query) -> tuple[ReferenceTable, ...]:
    """Every table that rows of a query are looked up in, once."""
    found = (table for output in query.outputs for table in reference_tables_of(output.root))
    return tuple(dict.fromkeys(found))


def steps_above(root: Node, common: Node) -> tuple[Select | TableJoin, ...]:
    """The stateless steps from `common` up to an output, in the order in which rows pass them."""
    found: list[Select | TableJoin] = []
    node = root
    while node != common:
        assert isinstance(node, Select | TableJoin)
        found.append(node)
        node = step_input(node)
    return tuple(reversed(found))


def _last_common_node(roots: list[Select]) -> Node:
    """The last node that all of them read; with one root, the root itself."""
    chains = [_steps_of(root) for root in roots]
    shared: Node = chains[0][0]
    for nodes in zip(*chains, strict=False):
        if any(not _is_same_stream(node, nodes[0]) for node in nodes):
            break
        shared = nodes[0]
    return shared


def _is_same_stream(one: Node, other: Node) -> bool:
    """Whether two nodes are one stream: two streams with the same text are not."""
    if isinstance(one, Select) and isinstance(other, Select) and one.stream != other.stream:
        return False
    return one == other


def _steps_of(root: Node) -> list[Node]:
    """The stateless steps of an output, after what they read."""
    found = [root]
    while isinstance(node := found[-1], Select | TableJoin):
        found.append(step_input(node))
    return found[::-1]


def _operators(node: Node, skipped: list[Operator | None]) -> Iterator[Operator]:
    """The operators from `node` on, without the first occurrence of each in `skipped`."""
    if not isinstance(node, Stateless):
        if node in skipped:
            skipped.remove(node)
            return
        yield node
    for each in children_of(node):
        yield from _operators(each, skipped)


def named_streams(root: Node) -> set[str]:
    """The names of the streams declared with CREATE STREAM that an output reads."""
    return {node.stream for node in nodes_of(root) if isinstance(node, Select) and node.stream}


def computed_named_streams(branch: Branch) -> set[Select]:
    """The streams declared with CREATE STREAM that a branch computes itself."""
    skipped = [branch.shared]

    def walk(node: Node) -> Iterator[Select]:
        if not isinstance(node, Stateless) and node in skipped:
            skipped.remove(node)
            return
        if isinstance(node, Select) and node.stream:
            yield node
        for each in children_of(node):
            yield from walk(each)

    return set(walk(branch.root))
