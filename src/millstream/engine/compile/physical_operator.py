"""What the state host needs of an operator, and how its result is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import polars as pl
from pyspark.sql import Column
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DataType,
    LongType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from millstream.engine.compile.compiled_operator import LateInput
from millstream.engine.compile.input_columns import Field
from millstream.engine.compile.join_inputs import PackedSides
from millstream.engine.compile.packet_columns import PackedInput
from millstream.engine.shuffle.packer import PackerSpec
from millstream.kernels.core.kernel import Kernel
from millstream.plan.expressions import Expression
from millstream.temporal import OnLimit, StateLimit


@dataclass(frozen=True, slots=True)
class PhysicalOperator:
    """`schema` is of the columns that the kernel gives, `shown` how users read them, `physical`
    the facts of its state that only the engine knows."""

    kernel: Kernel
    inputs: tuple[tuple[PackedInput, PackerSpec], ...]
    schema: StructType
    shown: tuple[Column, ...]
    physical: Mapping[str, Any]
    changes: bool = False
    where: Expression | None = None
    late: tuple[LateInput, ...] = ()
    hash_from: tuple[str | None, ...] = (None,)
    keys: tuple[tuple[str, ...], ...] = ((),)  # of each input, for the heaviest to be told by
    sides: PackedSides | None = None  # of a join, which may run in the host of another, or host one
    wall_clock: bool = False  # its rows have the operator's processing time
    last_window: int = 0  # of a window join: how far a row's last window is from its own time


def packet_type(kind: DataType) -> DataType:
    """The type in which a value of another travels; see `wire.to_wire`."""
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
    """Types of columns, so that a column no row has come of has its own NULLs."""
    empty = to_arrow_schema(schema, timezone="UTC").empty_table()
    return dict(cast("pl.DataFrame", pl.from_arrow(empty)).schema)


def types_in_state(schema: StructType, names: Iterable[str]) -> dict[str, str]:
    """The Spark types of columns in state, by their names there. A key may be in state as its hash
    alone: it has no column."""
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
