"""The compiler of each kind of operator: from its node to a kernel with packed inputs.

A new kind is registered here and, as a plan sees it, in `plan.kinds`; a test checks that both know
the same kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from millstream.plan.nodes import Join, Operator
from millstream.spark.joins.compile import join_operation
from millstream.spark.joins.kernels import KERNELS
from millstream.spark.operands import Operand
from millstream.spark.operation import Operation
from millstream.spark.operations import SINGLE_INPUT, SingleInput
from millstream.spark.stateless import Flow

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
