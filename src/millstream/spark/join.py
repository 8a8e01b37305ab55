"""Joins of two streams as kernels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.kernels.interval_join import IntervalJoin as IntervalJoinKernel
from millstream.kernels.interval_join import IntervalJoinSpec
from millstream.kernels.specs import TemporalJoinSpec
from millstream.kernels.temporal_join import TemporalJoin as TemporalJoinKernel
from millstream.plan.nodes import IntervalJoin, Key, TemporalJoin
from millstream.spark.inputs import Field
from millstream.spark.operated import LateInput
from millstream.spark.operation import Operation, polars_types, shared
from millstream.spark.sides import FLAG, Side, Sides, prepare
from millstream.spark.stateless import Flow
from millstream.temporal import LateAction, format_span


def join_operation(
    spark: SparkSession,
    node: IntervalJoin,
    flows: tuple[Flow, Flow],
    groups: int,
    clocked: bool,
) -> Operation:
    sides = prepare(spark, node, flows, groups, clocked)
    both = (sides.left, sides.right)
    aliases = (node.left.alias, node.right.alias)
    count = 1 if node.how.left_only else 2
    keeps = node.late.action is LateAction.SIDE_OUTPUT
    return Operation(
        IntervalJoinKernel(_spec(node, sides, groups), _types(sides)),
        tuple((side.frame, side.packing) for side in both),
        _schema(both[:count]),
        tuple(_struct(side.fields).alias(alias) for side, alias in zip(both, aliases, strict=True))[
            :count
        ],
        _signature(node, sides),
        # An inner join's predicate may as well be a filter of its rows.
        where=node.across_sql if node.only_spark else None,
        late=tuple(LateInput(side.packing.name, side.fields) for side in both) if keeps else (),
        hash_from=tuple(side.hash_from for side in both),
    )


def temporal_operation(
    spark: SparkSession,
    node: TemporalJoin,
    flows: tuple[Flow, Flow],
    groups: int,
    clocked: bool,
) -> Operation:
    sides = prepare(spark, node, flows, groups, clocked)
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
        limit=shared(node.limit, groups),
    )
    signature = {
        "type": f"{node.how}, {node.direction}",
        "tolerance": "none" if node.tolerance is None else format_span(node.tolerance),
        "deletes": node.deletes or "none",
        **_side_texts(sides, (None, None)),
        **_key_texts(node.keys, sides),
    }
    aliases = (node.left.alias, node.right.alias)
    keeps = node.late.action is LateAction.SIDE_OUTPUT
    return Operation(
        TemporalJoinKernel(spec, _types(sides)),
        tuple((side.frame, side.packing) for side in both),
        _schema(both),
        tuple(_struct(side.fields).alias(alias) for side, alias in zip(both, aliases, strict=True)),
        signature,
        late=tuple(LateInput(side.packing.name, side.fields) for side in both) if keeps else (),
        hash_from=tuple(side.hash_from for side in both),
    )


def _schema(sides: Sequence[Side]) -> StructType:
    schema = StructType()
    for side in sides:
        for field in side.fields:
            schema.add(side.frame.schema[field.wire])
    return schema


def _types(sides: Sides) -> dict[str, pl.DataType]:
    return {**polars_types(sides.left.frame.schema), **polars_types(sides.right.frame.schema)}


def _struct(fields: tuple[Field, ...]) -> Column:
    return F.struct(*(field.shown for field in fields))


def _spec(node: IntervalJoin, sides: Sides, groups: int) -> IntervalJoinSpec:
    return IntervalJoinSpec(
        how=node.how,
        lower=node.bounds.lower,
        upper=node.bounds.upper,
        left_keys=sides.left.keys,
        right_keys=sides.right.keys,
        left_columns=tuple(field.wire for field in sides.left.fields),
        right_columns=tuple(field.wire for field in sides.right.fields),
        across=sides.across,
        key_is_hash=sides.key_is_hash,
        retention=node.retention,
        limit=shared(node.limit, groups),
        late=node.late,
    )


def _signature(node: IntervalJoin, sides: Sides) -> dict[str, str]:
    """What state depends on. It is kept in the state, for those who keep nothing beside it."""
    return {
        "type": str(node.how),
        "bound": str(node.bounds),
        **_side_texts(sides, (node.left_where, node.right_where)),
        **_key_texts(node.keys, sides),
        "predicate": node.across_sql or "none",
    }


def _side_texts(sides: Sides, wheres: tuple[str | None, str | None]) -> dict[str, str]:
    texts = {}
    for name, side, where in zip(("left", "right"), (sides.left, sides.right), wheres, strict=True):
        held = [f"{field.name} {field.type.simpleString()}" for field in side.fields]
        texts[f"{name} columns"] = ", ".join(held)
        texts[f"{name} filter"] = where or "none"
    return texts


def _key_texts(keys: tuple[Key, ...], sides: Sides) -> dict[str, str]:
    wired = [field for field in sides.left.frame.schema if field.name in sides.left.keys]
    types = ", ".join(field.dataType.simpleString() for field in wired) or "bigint"
    return {"key": " AND ".join(f"{key.left} = {key.right}" for key in keys), "key type": types}
