"""Compiles an operator that reads a UNION ALL: each branch is a physical input of its own.

The packer, watermark and counts of a branch are those of any other input. The processor gives the
kernel the rows of all branches as one input (`InputSpec.kernel_input`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from millstream.engine.compile.compiled_operator import LateInput
from millstream.engine.compile.physical_operator import PhysicalOperator
from millstream.engine.compile.stateless import StreamFrame, compile_select
from millstream.plan.nodes import Input, Join, Operator, Select
from millstream.plan.union_types import common_type, type_error, with_types

Branches = tuple[tuple[Input, StreamFrame], ...]  # of one input; one, if it is no UNION ALL


def compile_with_branches(
    node: Operator,
    inputs: Sequence[Branches],
    compile_kind: Callable[[Operator, list[StreamFrame]], PhysicalOperator],
) -> PhysicalOperator:
    """Returns an operator with a physical input for each branch of its inputs.

    It is compiled once for every place in a UNION ALL: the n-th time over the n-th branches. The
    kernel is the same each time, because all branches have the same columns.
    """
    count = max(map(len, inputs))
    if count == 1:
        return compile_kind(node, [branches[0][1] for branches in inputs])
    aligned = [_with_common_types(branches) for branches in inputs]
    compiled = []
    for number in range(count):
        chosen = [branches[min(number, len(branches) - 1)] for branches in aligned]
        compiled.append(
            compile_kind(_over(node, [side for side, _ in chosen]), [rows for _, rows in chosen])
        )
    first = compiled[0]
    starts = [0, *accumulate(map(len, aligned))]
    packed, hash_from, keys = [], [], []
    late: list[LateInput] = []
    for input_number, branches in enumerate(aligned):
        for number in range(len(branches)):
            own = compiled[number]
            packed_input, packer_spec = own.inputs[input_number]
            packed.append(
                (packed_input, replace(packer_spec, target=starts[input_number] + number))
            )
            hash_from.append(own.hash_from[input_number])
            keys.append(own.keys[input_number])
            late += own.late[input_number : input_number + 1]
    return replace(
        first,
        inputs=tuple(packed),
        hash_from=tuple(hash_from),
        keys=tuple(keys),
        late=tuple(late),
    )


def _over(node: Operator, sides: Sequence[Input]) -> Operator:
    if isinstance(node, Join):
        return replace(node, left=sides[0], right=sides[1])
    return replace(node, input=sides[0])


def _with_common_types(branches: Branches) -> Branches:
    """Casts columns whose types only Spark knows."""
    first, _ = branches[0]
    casts: dict[str, str] = {}
    for each in first.node.columns:
        types = [rows.rows.types[each.name].simpleString() for _, rows in branches]
        if len(set(types)) == 1:
            continue
        wider = common_type(types)
        if wider is None:
            other = next(kind for kind in types if common_type([types[0], kind]) is None)
            side, _ = branches[types.index(other)]
            raise type_error(each.name, types[0], other, side.node.place)
        casts[each.name] = wider
    if not casts:
        return branches
    return tuple((side, _cast(side.node, rows, casts)) for side, rows in branches)


def _cast(node: object, rows: StreamFrame, casts: dict[str, str]) -> StreamFrame:
    assert isinstance(node, Select)
    own = {
        name: wider
        for name, wider in casts.items()
        if rows.rows.types[name].simpleString() != wider
    }
    return compile_select(with_types(node, own), rows) if own else rows
