"""The branches of a UNION ALL that an operator reads: each is a physical input of the operator."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import Input, Node, Operator, Select, UnionAll
from millstream.plan.nodes.traversal import inputs_of


def union_of(node: Node) -> UnionAll | None:
    """Returns the UNION ALL that a Select reads without any change, or None."""
    if not isinstance(node, Select) or not isinstance(node.input, UnionAll):
        return None
    names = [each.name for each in node.input.columns]
    read = [(each.expression.column_of(node.alias), each.name) for each in node.outputs]
    return node.input if node.where is None and read == [(name, name) for name in names] else None


def branch_inputs(side: Input) -> tuple[Input, ...]:
    """Returns the streams that an input consists of: of a UNION ALL its branches."""
    union = union_of(side.node)
    if union is None:
        return (side,)
    return tuple(
        replace(side, node=each, delay=0 if side.time is None else watermark_delay_of(each))
        for each in union.inputs
    )


def physical_inputs(operator: Operator) -> tuple[Input, ...]:
    """Returns the streams of all inputs of an operator. Their places are their numbers in packets,
    statistics and the ledger."""
    return tuple(each for side in inputs_of(operator) for each in branch_inputs(side))
