"""The regular join as a kernel."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.kernels.joins.regular.kernel import RegularJoin as RegularJoinKernel
from millstream.kernels.specs import RegularJoinSpec
from millstream.plan.expressions.spark_sql import text_or_none
from millstream.plan.nodes import RegularJoin
from millstream.spark.joins.common import (
    key_texts,
    late_of,
    schema_of,
    shown_as,
    side_texts,
    types_of,
)
from millstream.spark.joins.sides import Sides, prepare
from millstream.spark.operation import Operation
from millstream.spark.stateless import Flow
from millstream.temporal import format_span


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
        _signature(node, sides),
        changes=node.retracts,
        # A pair of an inner join is filtered alike when it is told and when it is taken back.
        where=node.across_sql if node.only_spark else None,
        late=late_of(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
    )


def _signature(node: RegularJoin, sides: Sides) -> dict[str, str]:
    """What state depends on. With rows taken back, more is held of each."""
    changing = [
        name for name, told in zip(("left", "right"), node.over_changes, strict=True) if told
    ]
    return {
        "type": str(node.how),
        "ttl": "none" if node.ttl is None else format_span(node.ttl),
        "changing": " and ".join(changing) or "none",
        **side_texts(sides, (node.left_where, node.right_where)),
        **key_texts(node.keys, sides),
        "predicate": text_or_none(node.across_sql) or "none",
    }
