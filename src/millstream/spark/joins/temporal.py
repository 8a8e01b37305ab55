"""The temporal join as a kernel."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.kernels.joins.temporal.kernel import TemporalJoin as TemporalJoinKernel
from millstream.kernels.specs import TemporalJoinSpec
from millstream.plan.expressions.spark_sql import text_or_none
from millstream.plan.nodes import TemporalJoin
from millstream.spark.joins.common import (
    key_texts,
    late_of,
    schema_of,
    shown_as,
    side_texts,
    types_of,
)
from millstream.spark.joins.sides import FLAG, prepare
from millstream.spark.operation import Operation
from millstream.spark.stateless import Flow
from millstream.temporal import format_span


def temporal_operation(
    spark: SparkSession,
    node: TemporalJoin,
    flows: tuple[Flow, Flow],
    groups: int,
) -> Operation:
    sides = prepare(spark, node, flows, groups)
    both = (sides.left, sides.right)
    spec = TemporalJoinSpec(
        how=node.how,
        left_keys=sides.left.keys,
        right_keys=sides.right.keys,
        left_columns=tuple(field.wire for field in sides.left.fields),
        right_columns=tuple(field.wire for field in sides.right.fields),
        direction=node.direction,
        tolerance=node.tolerance,
        deletes=None if node.deletes is None else FLAG,
        key_is_hash=sides.key_is_hash,
        late=node.late,
        limit=node.limit,
    )
    signature = {
        "type": f"{node.how}, {node.direction}",
        "tolerance": "none" if node.tolerance is None else format_span(node.tolerance),
        "deletes": text_or_none(node.deletes) or "none",
        **side_texts(sides, (None, None)),
        **key_texts(node.keys, sides),
    }
    return Operation(
        TemporalJoinKernel(spec, types_of(sides)),
        tuple((side.ready, side.packing) for side in both),
        schema_of(both),
        shown_as(node, sides),
        signature,
        late=late_of(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
        sides=sides,
    )
