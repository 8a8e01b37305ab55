"""The columnar engine: an interval join as packets, an exchange and a kernel in the state host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructType

from millstream.kernels.interval_join import IntervalJoin as IntervalJoinKernel
from millstream.kernels.interval_join import IntervalJoinSpec
from millstream.observe.account import input_names
from millstream.plan.nodes import IntervalJoin
from millstream.spark.control import end_packets
from millstream.spark.groups import labels
from millstream.spark.host import MAIN, PORTS, HostInput, KernelHost
from millstream.spark.packets import PACKET, packer
from millstream.spark.sides import Field, Side, Sides, prepare
from millstream.spark.stateless import spark_errors
from millstream.spark.wire import from_wire


@dataclass(frozen=True, slots=True)
class Joined:
    """What the operator gives: joined rows and packets of other ports, on one plan."""

    raw: DataFrame
    node: IntervalJoin
    sides: Sides

    def main(self, frame: DataFrame) -> DataFrame:
        """The joined rows of `raw`, or of a micro-batch of it: a struct a side, by its alias."""
        shown = [(self.node.left.alias, self.sides.left)]
        if not self.node.how.left_only:
            shown.append((self.node.right.alias, self.sides.right))
        rows = frame.where(F.col("_port") == MAIN).select(
            *(_struct(side.fields).alias(alias) for alias, side in shown)
        )
        if self.node.only_spark and self.node.across_sql:
            # An inner join's predicate may as well be a filter of its rows.
            with spark_errors():
                rows = rows.where(F.expr(self.node.across_sql))
        return rows

    def late(self, spark: SparkSession, found: list[tuple[int, pa.Table]]) -> DataFrame:
        """Late rows: columns of both inputs, the source's name and how late a row came."""
        frames = []
        for number, side in enumerate((self.sides.left, self.sides.right)):
            tables = [table for source, table in found if source == number]
            frames.append(self._late_side(spark, side, tables))
        return frames[0].unionByName(frames[1], allowMissingColumns=True)

    def _late_side(self, spark: SparkSession, side: Side, tables: list[pa.Table]) -> DataFrame:
        types = {field.name: field.type for field in self.sides.left.fields}
        types |= {field.name: field.type for field in self.sides.right.fields}
        unlike = {
            field.name
            for each in (self.sides.left, self.sides.right)
            for field in each.fields
            if types[field.name] != field.type
        }
        columns = []
        for field in side.fields:
            # Of one name and two types, both are shown as text: a cast could change a value.
            kind = StringType() if field.name in unlike else field.type
            value = from_wire(field.wire, field.type) if tables else F.lit(None)
            columns.append(value.cast(kind).alias(field.name))
        lateness = F.expr("_lateness DIV 1000") if tables else F.lit(None)
        rows = spark.createDataFrame(pa.concat_tables(tables)) if tables else spark.range(0)
        return rows.select(
            *columns,
            F.lit(side.packing.name).alias("_source"),
            lateness.cast("bigint").alias("_lateness_ms"),
        )


def _struct(fields: tuple[Field, ...]) -> Column:
    return F.struct(*(from_wire(field.wire, field.type).alias(field.name) for field in fields))


def join(
    spark: SparkSession,
    node: IntervalJoin,
    sources: Mapping[str, DataFrame],
    *,
    groups: int,
    control: str | None,
) -> Joined:
    with spark_errors():
        sides = prepare(spark, node, sources, groups)
    stream = _packets(sides.left).unionByName(_packets(sides.right))
    if control is not None:
        stream = stream.unionByName(end_packets(spark, control, labels(groups)))
    shown = [sides.left] if node.how.left_only else [sides.left, sides.right]
    schema = StructType()
    for side in shown:
        for field in side.fields:
            schema.add(side.frame.schema[field.wire])
    columns = tuple(schema.names)
    for port in cast("StructType", StructType.fromDDL(PORTS)):
        schema.add(port)
    delays = (node.left.delay, node.right.delay)
    hashes = (sides.left.hash_from, sides.right.hash_from)
    inputs = tuple(map(HostInput, input_names(node), delays, hashes))
    kernel = IntervalJoinKernel(_spec(node, sides, groups), _polars_types(sides))
    host = KernelHost(kernel, inputs, columns, _signature(node, sides, groups))
    raw = stream.groupBy("label").transformWithStateInPandas(host, schema, "Append", "None")
    return Joined(raw, node, sides)


def _packets(side: Side) -> DataFrame:
    return side.frame.mapInArrow(packer(side.packing), PACKET)


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
        limit=replace(
            node.limit,
            max_rows=_share(node.limit.max_rows, groups),
            max_bytes=_share(node.limit.max_bytes, groups),
        ),
        late=node.late,
    )


def _polars_types(sides: Sides) -> dict[str, pl.DataType]:
    """Types of all columns, so that a side no row has come of has its own NULLs."""
    types: dict[str, pl.DataType] = {}
    for side in (sides.left, sides.right):
        empty = to_arrow_schema(side.frame.schema, timezone="UTC").empty_table()
        types.update(cast("pl.DataFrame", pl.from_arrow(empty)).schema)
    return types


def _signature(node: IntervalJoin, sides: Sides, groups: int) -> dict[str, str]:
    """What state depends on. It is kept in the state, for those who keep nothing beside it."""
    texts = {"type": str(node.how), "bound": str(node.bounds), "key groups": str(groups)}
    for name, side, where in (
        ("left", sides.left, node.left_where),
        ("right", sides.right, node.right_where),
    ):
        held = [f"{field.name} {field.type.simpleString()}" for field in side.fields]
        texts[f"{name} columns"] = ", ".join(held)
        texts[f"{name} filter"] = where or "none"
    keys = [f"{key.left} = {key.right}" for key in node.keys]
    wired = [field for field in sides.left.frame.schema if field.name in sides.left.keys]
    texts["key"] = " AND ".join(keys)
    texts["key type"] = ", ".join(field.dataType.simpleString() for field in wired) or "bigint"
    texts["predicate"] = node.across_sql or "none"
    return texts


def _share(limit: int | None, groups: int) -> int | None:
    """A limit is the operator's; its groups, alike by hash, have an equal share of it."""
    return None if limit is None else max(1, -(-limit // groups))
