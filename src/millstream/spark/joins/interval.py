"""The interval join as a kernel."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.kernels.joins.interval import IntervalJoin as IntervalJoinKernel
from millstream.kernels.joins.interval import IntervalJoinSpec
from millstream.kernels.joins.spec import Panes
from millstream.plan.expressions.spark_sql import text_or_none
from millstream.plan.nodes import IntervalJoin
from millstream.spark.joins.common import (
    key_texts,
    late_of,
    schema_of,
    shown_as,
    side_texts,
    types_of,
)
from millstream.spark.joins.sides import CARRIED, Sides, prepare
from millstream.spark.operation import Operation
from millstream.spark.stateless import Flow
from millstream.temporal import Window


def interval_operation(
    spark: SparkSession,
    node: IntervalJoin,
    flows: tuple[Flow, Flow],
    groups: int,
    carrying: bool,
) -> Operation:
    """`carrying`: the next join is by the same key, and reads its hash beside the result."""
    sides = prepare(spark, node, flows, groups, carrying=carrying)
    both = (sides.left, sides.right)
    count = 1 if node.how.left_only else 2
    return Operation(
        IntervalJoinKernel(_spec(node, sides), types_of(sides)),
        tuple((side.ready, side.packing) for side in both),
        schema_of(both[:count]),
        shown_as(node, sides),
        _signature(node, sides),
        # An inner join's predicate may as well be a filter of its rows.
        where=node.across_sql if node.only_spark else None,
        late=late_of(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
        sides=sides,
    )


def _spec(node: IntervalJoin, sides: Sides) -> IntervalJoinSpec:
    carried = (CARRIED,) if CARRIED in sides.left.ready.schema.names else ()
    return IntervalJoinSpec(
        how=node.how,
        lower=node.bounds.lower,
        upper=node.bounds.upper,
        left_keys=sides.left.keys,
        right_keys=sides.right.keys,
        left_columns=(*(field.wire for field in sides.left.fields), *carried),
        right_columns=tuple(field.wire for field in sides.right.fields),
        across=sides.across,
        key_is_hash=sides.key_is_hash,
        retention=node.retention,
        limit=node.limit,
        late=node.late,
        panes=_panes(node),
    )


def _panes(node: IntervalJoin) -> tuple[Panes, Panes] | None:
    """The windows that rows of either side wait for, where they are not their own."""
    if node.windows is None or node.windows[0] == node.windows[1]:
        return None
    left, right = node.windows

    def panes(window: Window) -> Panes:
        return Panes(window.size, window.slide, window.offset, node.lateness)

    return panes(right), panes(left)


def _signature(node: IntervalJoin, sides: Sides) -> dict[str, str]:
    """What state depends on. It is kept in the state, for those who keep nothing beside it."""
    return {
        "type": str(node.how),
        "bound": str(node.bounds),
        **side_texts(sides, (node.left_where, node.right_where)),
        **key_texts(node.keys, sides),
        "predicate": text_or_none(node.across_sql) or "none",
    }
