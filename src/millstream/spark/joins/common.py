"""What all joins give: the columns of their sides, and the texts that their state depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.plan.expressions import Expression
from millstream.plan.expressions.spark_sql import text_or_none
from millstream.plan.names.own_windows import shown_name
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    IntervalJoin,
    Join,
    Key,
)
from millstream.spark.inputs import Field
from millstream.spark.joins.sides import Side, Sides
from millstream.spark.operated import LateInput
from millstream.spark.operation import polars_types
from millstream.temporal import LateAction


def schema_of(sides: Sequence[Side]) -> StructType:
    schema = StructType()
    for side in sides:
        for field in side.fields:
            schema.add(side.ready.schema[field.wire])
    return schema


def types_of(sides: Sides) -> dict[str, pl.DataType]:
    return {**polars_types(sides.left.ready.schema), **polars_types(sides.right.ready.schema)}


def struct_of(fields: tuple[Field, ...]) -> Column:
    return F.struct(*(field.shown for field in fields))


def side_texts(sides: Sides, wheres: tuple[Expression | None, Expression | None]) -> dict[str, str]:
    texts = {}
    for name, side, where in zip(("left", "right"), (sides.left, sides.right), wheres, strict=True):
        held = [f"{field.name} {field.type.simpleString()}" for field in side.fields]
        texts[f"{name} columns"] = ", ".join(held)
        texts[f"{name} filter"] = text_or_none(where) or "none"
    return texts


def key_texts(keys: tuple[Key, ...], sides: Sides) -> dict[str, str]:
    wired = [field for field in sides.left.ready.schema if field.name in sides.left.keys]
    types = ", ".join(field.dataType.simpleString() for field in wired) or "bigint"
    return {"key": " AND ".join(f"{key.left} = {key.right}" for key in keys), "key type": types}


def shown_as(node: Join, sides: Sides) -> tuple[Column, ...]:
    """A struct a side, named as users call it."""
    both = ((node.left.alias, sides.left), (node.right.alias, sides.right))
    count = 1 if node.how.left_only else 2
    return tuple(struct_of(side.fields).alias(alias) for alias, side in both[:count])


def late_of(node: Join, sides: Sides) -> tuple[LateInput, ...]:
    """Late rows come out as they came: without the columns of a window."""
    if node.late.action is not LateAction.SIDE_OUTPUT:
        return ()
    both = (sides.left, sides.right)
    if not isinstance(node, IntervalJoin) or not node.windows:
        return tuple(LateInput(side.packing.name, side.fields) for side in both)
    return tuple(
        LateInput(
            side.packing.name,
            tuple(
                replace(field, name=shown_name(field.name))
                for field in side.fields
                if field.name not in _ADDED
            ),
        )
        for side in both
    )


_ADDED = (WINDOW_START, WINDOW_END, WINDOW_TIME, WINDOW_UNTIL)
