"""The compiler of each kind of operator: from its node to a kernel with packed inputs.

A new kind is registered here and, as a plan sees it, in `plan.kinds`; a test checks that both know
the same kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from millstream.engine.compile.join_kernels import KERNELS
from millstream.engine.compile.joins import compile_join
from millstream.engine.compile.operator_input import OperatorInput
from millstream.engine.compile.physical_operator import PhysicalOperator
from millstream.engine.compile.single_input import SINGLE_INPUT, SingleInput
from millstream.engine.compile.stateless import StreamFrame
from millstream.plan.nodes import Join, Operator

Compiler = Callable[[SparkSession, Any, Sequence[StreamFrame], int, bool], PhysicalOperator]


def _join(
    spark: SparkSession, node: Join, streams: Sequence[StreamFrame], groups: int, carries_hash: bool
) -> PhysicalOperator:
    return compile_join(spark, node, streams, groups, carries_hash=carries_hash)


def _single_input(
    spark: SparkSession, node: SingleInput, streams: Sequence[StreamFrame], groups: int, _: bool
) -> PhysicalOperator:
    return SINGLE_INPUT[type(node)](OperatorInput(spark, node.input, streams[0]), node, groups)


COMPILERS: dict[type[Operator], Compiler] = {
    **dict.fromkeys(KERNELS, _join),
    **dict.fromkeys(SINGLE_INPUT, _single_input),
}
