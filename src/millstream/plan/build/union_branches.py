"""Moves the steps that read a UNION ALL into its branches.

    Select ── UnionAll ──┬── a            UnionAll ──┬── Select ── a
                         └── b    becomes            └── Select ── b

Afterwards a UNION ALL is read only by an operator, through a Select that changes nothing, or it is
the result of a pipeline. So each branch is a stream of its own: executors read and pack its source,
and it has its own watermark, rejected rows and counts. A pipeline whose result is a UNION ALL
becomes one pipeline for each branch, all with the same sink.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from millstream.plan.expressions import column
from millstream.plan.facts.union import union_of
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import (
    Input,
    Join,
    Node,
    Output,
    Pipeline,
    Select,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.plan.union_types import ALIAS


def with_union_branches(root: Select) -> Select:
    """Returns the plan with the steps that read each UNION ALL in its branches."""
    return cast("Select", _as_stream(_distributed(root), root.window))


def branch_pipelines(pipeline: Pipeline) -> tuple[Pipeline, ...]:
    """Returns a pipeline for each branch of its result."""
    union = union_of(pipeline.root)
    if union is None:
        return (pipeline,)
    count = len(union.inputs)
    return tuple(
        replace(pipeline, root=branch, branch=(number, count))
        for number, branch in enumerate(union.inputs, 1)
    )


def _as_stream(node: Node, window: tuple[str, str] | None) -> Source | Select:
    """Returns what an operator reads: of a UNION ALL, a Select that changes nothing."""
    if not isinstance(node, UnionAll):
        return cast("Source | Select", node)
    outputs = tuple(Output(column(ALIAS, each.name, each.type), each.name) for each in node.columns)
    return Select(node, outputs, alias=ALIAS, time=node.time, window=window, place=node.place)


def _distributed(node: Node) -> Node:
    if isinstance(node, Source):
        return node
    if isinstance(node, UnionAll):
        return replace(node, inputs=_flattened(node))
    if isinstance(node, Select):
        return _over_branches(replace(node, input=_distributed(node.input)))
    if isinstance(node, TableJoin):
        return replace(node, left=_input(node.left))
    if isinstance(node, Join):
        return replace(node, left=_input(node.left), right=_input(node.right))
    return replace(node, input=_input(node.input))


def _flattened(node: UnionAll) -> tuple[Select, ...]:
    found: list[Select] = []
    for each in node.inputs:
        branch = _distributed(each)
        found += branch.inputs if isinstance(branch, UnionAll) else (cast("Select", branch),)
    return tuple(found)


def _over_branches(node: Select) -> Node:
    """Returns a Select over a UNION ALL as the UNION ALL of Selects."""
    below = node.input
    if isinstance(below, UnionAll):
        if node.stream is None and union_of(node) is not None:
            return below
        inputs = tuple(replace(node, input=each) for each in below.inputs)
        return UnionAll(inputs, node.time, node.place)
    if isinstance(below, TableJoin) and (union := union_of(below.left.node)):
        joins = (replace(below, left=_branch(below.left, each)) for each in union.inputs)
        return UnionAll(tuple(replace(node, input=each) for each in joins), node.time, node.place)
    return node


def _branch(side: Input, branch: Select) -> Input:
    lag = 0 if branch.time is None else watermark_delay_of(branch)
    return replace(side, node=branch, time=branch.time, delay=lag)


def _input(side: Input) -> Input:
    window = side.node.window if isinstance(side.node, Select) else None
    return replace(side, node=_as_stream(_distributed(side.node), window))
