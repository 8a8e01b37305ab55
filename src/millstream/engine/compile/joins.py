"""Compiles a join of two streams, of any kind: a kernel with two packed inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampType

from millstream.engine.compile.compiled_operator import LateInput, MatchFilter
from millstream.engine.compile.input_columns import Field
from millstream.engine.compile.join_inputs import PackedSide, PackedSides, pack_sides
from millstream.engine.compile.join_kernels import kernel_of
from millstream.engine.compile.physical_operator import (
    PhysicalOperator,
    packet_schema,
    polars_types,
    types_in_state,
)
from millstream.engine.compile.stateless import StreamFrame
from millstream.plan.expressions import Expression
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    Join,
)
from millstream.plan.resolve.window_columns import original_name
from millstream.temporal import LateAction

_WINDOW = tuple(Field(name, name, TimestampType()) for name in (WINDOW_START, WINDOW_END))
_ADDED = (WINDOW_START, WINDOW_END, WINDOW_TIME, WINDOW_UNTIL)


def compile_join(
    spark: SparkSession,
    node: Join,
    streams: Sequence[StreamFrame],
    groups: int,
    *,
    carries_hash: bool = False,
) -> PhysicalOperator:
    """Compiles a join. With `carries_hash`, the next operator has the same key and reads its
    hash."""
    sides = pack_sides(spark, node, (streams[0], streams[1]), groups, carries_hash=carries_hash)
    both = (sides.left, sides.right)
    columns = _schema_of(both[: 1 if node.how.left_only else 2])
    window = _WINDOW if join_kind_of(node).emits_window else ()
    return PhysicalOperator(
        kernel_of(node, sides, _types_of(sides)),
        tuple((side.packed_input, side.packer_spec) for side in both),
        StructType([*columns, *packet_schema(window)]),
        (*_visible_columns(node, sides), *_window_columns(window)),
        _physical(sides),
        is_changelog=node.retracts,
        where=_where(node),
        match_filter=_match_filter(node),
        late=_late(node, sides),
        hash_from=tuple(side.hash_from for side in both),
        keys=(sides.left.keys, sides.right.keys),
        sides=sides,
        last_window=_last_window(node),
    )


def _where(node: Join) -> Expression | None:
    """The predicate that only Spark can evaluate. It filters the pairs of an inner join, both
    emitted and retracted ones."""
    matching = join_kind_of(node).matching(node)
    return matching.across_sql if matching.only_spark else None


def _match_filter(node: Join) -> MatchFilter | None:
    """The predicate over a row and its version in the ON of a LEFT temporal join."""
    predicate = join_kind_of(node).matching(node).version_where
    return None if predicate is None else MatchFilter(predicate, node.right.alias)


def _last_window(node: Join) -> int:
    """The time between the first and the last window of a row of a window join."""
    windows = join_kind_of(node).windows(node)
    if windows is None or not windows.are_equal:
        return 0
    return windows.lateness + windows.left.size - windows.left.slide


def _schema_of(sides: Sequence[PackedSide]) -> StructType:
    schema = StructType()
    for side in sides:
        for field in side.fields:
            schema.add(side.packed_input.schema[field.packet_name])
    return schema


def _types_of(sides: PackedSides) -> dict[str, pl.DataType]:
    return {
        **polars_types(sides.left.packed_input.schema),
        **polars_types(sides.right.packed_input.schema),
    }


def _physical(sides: PackedSides) -> dict[str, Any]:
    """The types of keys and columns in state, for each side."""
    both = (("left", sides.left), ("right", sides.right))
    names = {
        name: (*side.keys, *(field.packet_name for field in side.fields)) for name, side in both
    }
    return {
        "types": {
            name: types_in_state(side.packed_input.schema, names[name]) for name, side in both
        }
    }


def _visible_columns(node: Join, sides: PackedSides) -> tuple[Column, ...]:
    """One struct for each side, with its alias."""
    both = ((node.left.alias, sides.left), (node.right.alias, sides.right))
    count = 1 if node.how.left_only else 2
    return tuple(
        F.struct(*(field.column for field in side.fields)).alias(alias)
        for alias, side in both[:count]
    )


def _window_columns(window: Sequence[Field]) -> tuple[Column, ...]:
    """The columns of the window. The event time of the result is the last microsecond of its
    window."""
    if not window:
        return ()
    last = F.timestamp_micros(F.col(WINDOW_END) - F.lit(1))
    return (*(field.column for field in window), last.alias(WINDOW_TIME))


def _late(node: Join, sides: PackedSides) -> tuple[LateInput, ...]:
    """Late rows are emitted as they were read, without the columns of a window."""
    if node.late.action is not LateAction.SIDE_OUTPUT:
        return ()
    both = (sides.left, sides.right)
    if join_kind_of(node).windows(node) is None:
        return tuple(LateInput(side.packer_spec.name, side.fields) for side in both)
    return tuple(
        LateInput(
            side.packer_spec.name,
            tuple(
                replace(field, name=original_name(field.name))
                for field in side.fields
                if field.name not in _ADDED
            ),
        )
        for side in both
    )
