"""What all joins give: the columns of their sides, and the types of their state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.plan.names.own_windows import shown_name
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    Join,
    WindowJoin,
)
from millstream.spark.inputs import Field
from millstream.spark.joins.sides import Side, Sides
from millstream.spark.operated import LateInput
from millstream.spark.operation import polars_types, types_in_state
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


def physical_of(sides: Sides) -> dict[str, Any]:
    """The types of keys and columns in state, a side."""
    return {
        "types": {
            name: types_in_state(
                side.ready.schema, (*side.keys, *(field.wire for field in side.fields))
            )
            for name, side in (("left", sides.left), ("right", sides.right))
        }
    }


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
    if not isinstance(node, WindowJoin):
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
