"""The compiler of each kind of operator: from its node to a kernel with packed inputs.

A new kind is registered here and, as a plan sees it, in `plan.kinds`; a test checks that both know
the same kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from millstream.engine.compile.join_kernels import KERNELS
from millstream.engine.compile.joins import join_operation
from millstream.engine.compile.operator_input import Operand
from millstream.engine.compile.physical_operator import Operation
from millstream.engine.compile.single_input import SINGLE_INPUT, SingleInput
from millstream.engine.compile.stateless import Flow
from millstream.plan.nodes import Join, Operator

Compiler = Callable[[SparkSession, Any, Sequence[Flow], int, bool], Operation]


def _join(
    spark: SparkSession, node: Join, flows: Sequence[Flow], groups: int, carrying: bool
) -> Operation:
    return join_operation(spark, node, flows, groups, carrying=carrying)


def _single_input(
    spark: SparkSession, node: SingleInput, flows: Sequence[Flow], groups: int, _: bool
) -> Operation:
    return SINGLE_INPUT[type(node)](Operand(spark, node.input, flows[0]), node, groups)


COMPILERS: dict[type[Operator], Compiler] = {
    **dict.fromkeys(KERNELS, _join),
    **dict.fromkeys(SINGLE_INPUT, _single_input),
}
