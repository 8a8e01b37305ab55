"""The regular join as a kernel."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.kernels.joins.regular.kernel import RegularJoin as RegularJoinKernel
from millstream.kernels.specs import RegularJoinSpec
from millstream.plan.nodes import RegularJoin
from millstream.spark.joins.common import (
    late_of,
    physical_of,
    schema_of,
    shown_as,
    types_of,
)
from millstream.spark.joins.sides import prepare
from millstream.spark.operation import Operation
from millstream.spark.stateless import Flow


def regular_operation(
    spark: SparkSession,
    node: RegularJoin,
    flows: tuple[Flow, Flow],
    groups: int,
) -> Operation:
    sides = prepare(spark, node, flows, groups)
    both = (sides.left, sides.right)
    count = 1 if node.how.left_only else 2
    spec = RegularJoinSpec(
        how=node.how,
        left_keys=sides.left.keys,
        right_keys=sides.right.keys,
        left_columns=tuple(field.wire for field in sides.left.fields),
        right_columns=tuple(field.wire for field in sides.right.fields),
        ttl=node.ttl,
        over_changes=node.over_changes,
        across=sides.across,
        key_is_hash=sides.key_is_hash,
        late=node.late,
        limit=node.limit,
    )
    return Operation(
        RegularJoinKernel(spec, types_of(sides)),
        tuple((side.ready, side.packing) for side in both),
        schema_of(both[:count]),
        shown_as(node, sides),
        physical_of(sides),
        changes=node.retracts,
        # A pair of an inner join is filtered alike when it is told and when it is taken back.
        where=node.across_sql if node.only_spark else None,
        late=late_of(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
    )
