"""The session join as a kernel."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampType

from millstream.kernels.joins.session.kernel import SessionJoin as SessionJoinKernel
from millstream.kernels.specs import SessionJoinSpec
from millstream.plan.nodes import WINDOW_END, WINDOW_START, WINDOW_TIME, SessionJoin
from millstream.spark.inputs import Field
from millstream.spark.joins.common import (
    late_of,
    physical_of,
    schema_of,
    shown_as,
    types_of,
)
from millstream.spark.joins.sides import prepare
from millstream.spark.operation import Operation, wire_schema
from millstream.spark.stateless import Flow

_WINDOW = tuple(Field(name, name, TimestampType()) for name in (WINDOW_START, WINDOW_END))


def session_operation(
    spark: SparkSession,
    node: SessionJoin,
    flows: tuple[Flow, Flow],
    groups: int,
) -> Operation:
    sides = prepare(spark, node, flows, groups)
    both = (sides.left, sides.right)
    spec = SessionJoinSpec(
        how=node.how,
        gap=node.gap,
        left_keys=sides.left.keys,
        right_keys=sides.right.keys,
        left_columns=tuple(field.wire for field in sides.left.fields),
        right_columns=tuple(field.wire for field in sides.right.fields),
        emit=node.emit,
        lateness=node.lateness,
        key_is_hash=sides.key_is_hash,
        late=node.late,
        limit=node.limit,
    )
    count = 1 if node.how.left_only else 2
    return Operation(
        SessionJoinKernel(spec, types_of(sides)),
        tuple((side.ready, side.packing) for side in both),
        StructType([*schema_of(both[:count]), *wire_schema(_WINDOW)]),
        (*shown_as(node, sides), *_window()),
        physical_of(sides),
        late=late_of(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
    )


def _window() -> tuple[Column, ...]:
    """The window's columns. Its time, that of the result, is its last microsecond."""
    last = F.timestamp_micros(F.col(WINDOW_END) - F.lit(1))
    return (*(field.shown for field in _WINDOW), last.alias(WINDOW_TIME))
