"""The temporal join as a kernel."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.kernels.joins.temporal.kernel import TemporalJoin as TemporalJoinKernel
from millstream.kernels.specs import TemporalJoinSpec
from millstream.plan.nodes import TemporalJoin
from millstream.spark.joins.common import (
    late_of,
    physical_of,
    schema_of,
    shown_as,
    types_of,
)
from millstream.spark.joins.sides import FLAG, prepare
from millstream.spark.operation import Operation
from millstream.spark.stateless import Flow


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
    return Operation(
        TemporalJoinKernel(spec, types_of(sides)),
        tuple((side.ready, side.packing) for side in both),
        schema_of(both),
        shown_as(node, sides),
        physical_of(sides),
        late=late_of(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
        sides=sides,
    )
