"""What the processor needs to run an operator, and how its result is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import polars as pl
from pyspark.sql import Column
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    LongType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from millstream.engine.compile.compiled_operator import LateInput, MatchFilter
from millstream.engine.compile.input_columns import Field
from millstream.engine.compile.join_inputs import PackedSides
from millstream.engine.compile.packet_columns import PackedInput
from millstream.engine.shuffle.column_names import SIDE_COLUMNS
from millstream.engine.shuffle.packer import PackerSpec
from millstream.kernels.core.kernel import OP, Kernel
from millstream.plan.expressions import Expression
from millstream.temporal import OnLimit, StateLimit


@dataclass(frozen=True, slots=True)
class PhysicalOperator:
    """A kernel with its packed inputs.

    Attributes:
        schema: The columns that the kernel returns.
        visible_columns: The same columns as the query reads them.
        physical: Facts about its state that only the engine knows.
    """

    kernel: Kernel
    inputs: tuple[tuple[PackedInput, PackerSpec], ...]
    schema: StructType
    visible_columns: tuple[Column, ...]
    physical: Mapping[str, Any]
    is_changelog: bool = False
    where: Expression | None = None
    match_filter: MatchFilter | None = None
    late: tuple[LateInput, ...] = ()
    hash_from: tuple[str | None, ...] = (None,)
    keys: tuple[tuple[str, ...], ...] = ((),)  # of each input; they identify heavy hitters
    sides: PackedSides | None = None  # of a join, which may share a shuffle
    wall_clock: bool = False  # its rows have the operator's processing time
    last_window: int = 0  # of a window join: how far a row's last window is from its own time


def output_schema(operator: PhysicalOperator) -> StructType:
    """The columns of an operator's results, with SIDE_COLUMNS."""
    schema = StructType(list(operator.schema))
    if operator.is_changelog:
        schema.add(StructField(OP, ByteType()))
    for field in SIDE_COLUMNS:
        schema.add(field)
    return schema


def packet_type(kind: DataType) -> DataType:
    """The type in which a value of another travels; see `types.to_packet`."""
    if isinstance(kind, TimestampType):
        return LongType()
    if isinstance(kind, MapType):
        entry = StructType(
            [
                StructField("key", kind.keyType, nullable=False),
                StructField("value", kind.valueType, kind.valueContainsNull),
            ]
        )
        return ArrayType(entry, containsNull=False)
    return kind


def packet_schema(fields: tuple[Field, ...]) -> StructType:
    return StructType([StructField(each.packet_name, packet_type(each.type)) for each in fields])


def polars_types(schema: StructType) -> dict[str, pl.DataType]:
    """The types of columns in Polars, so that a column without rows has NULLs of its own type."""
    empty = to_arrow_schema(schema, timezone="UTC").empty_table()
    return dict(cast("pl.DataFrame", pl.from_arrow(empty)).schema)


def types_in_state(schema: StructType, names: Iterable[str]) -> dict[str, str]:
    """The Spark types of columns in state, by their names there. A key that is in state only as its
    hash has no column."""
    known = schema.names
    return {name: schema[name].dataType.simpleString() for name in names if name in known}


def share_of(limit: StateLimit, groups: int) -> StateLimit | None:
    """An equal share of an operator's limit for each key group. It is used where no driver sends
    allowances and rows over the limit are evicted; None where there is no such limit."""
    if limit.on_limit is not OnLimit.EVICT or limit == StateLimit(on_limit=OnLimit.EVICT):
        return None

    def share(whole: int | None) -> int | None:
        return None if whole is None else max(1, -(-whole // groups))

    return replace(limit, max_rows=share(limit.max_rows), max_bytes=share(limit.max_bytes))
