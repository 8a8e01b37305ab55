"""The packed inputs of a join: key hash, key group, event time and buffered columns of each
side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, TimestampType

from millstream.engine.compile.compared_columns import (
    ComparedColumns,
    TypedExpression,
    columns_to_compare,
    common_types,
)
from millstream.engine.compile.input_columns import (
    Field,
    buffered_fields,
    create_packer_spec,
    field_column,
    packer_columns,
    time_column,
    time_packet_column,
)
from millstream.engine.compile.packet_columns import PackedInput, PacketColumn, PacketColumnBuilder
from millstream.engine.compile.stateless import StreamFrame, guarded
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.layout import GROUP
from millstream.engine.shuffle.packer import PackerSpec
from millstream.engine.shuffle.types import (
    comparable,
    is_compared_unchanged,
    is_own_hash,
    to_hash,
)
from millstream.kernels.core.kernel import HASH, PREDICATE
from millstream.plan.expressions import Expression
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import Input, Join
from millstream.scalars import Predicate
from millstream.temporal import LateAction
from millstream.values import JoinType

MATCHED = "_matched"  # false: the row matches no other, as if its key were NULL
FLAG = "_flag"  # of a version: it deletes its key
CARRIED_HASH = "_carried"  # the hash of the key, for the next join by the same key
_KINDS = (
    (Kind.LEFT, Kind.LEFT_KEY, Kind.LEFT_COMPARED),
    (Kind.RIGHT, Kind.RIGHT_KEY, Kind.RIGHT_COMPARED),
)


@dataclass(frozen=True, slots=True)
class PackedSide:
    """One side of a join as a packed input."""

    packed_input: PackedInput
    packer_spec: PackerSpec
    fields: tuple[Field, ...]
    keys: tuple[str, ...]
    hash_from: str | None  # the packet column that is the hash of the key, if any


@dataclass(frozen=True, slots=True)
class PackedSides:
    left: PackedSide
    right: PackedSide
    across: Predicate | None  # over the names of columns in packets
    key_is_hash: bool


def pack_sides(
    spark: SparkSession,
    node: Join,
    streams: tuple[StreamFrame, StreamFrame],
    groups: int,
    *,
    carries_hash: bool = False,
) -> PackedSides:
    matching = join_kind_of(node).matching(node)
    across, compared = None, ComparedColumns((), ())
    if matching.across and not matching.only_spark:
        across, compared = columns_to_compare(spark, node, streams, matching.across)
    pairs = [(key.left, key.right) for key in node.keys]
    keys = common_types(spark, node, streams, pairs, "The join's key")
    is_hash = len(pairs) == 1 and is_own_hash(keys[0][2])
    salts = _salts(node, groups)
    made = [
        _side(
            number,
            side,
            streams[number],
            keys=[
                (pair[number], types[number], types[2])
                for pair, types in zip(pairs, keys, strict=True)
            ],
            compared=(compared.left, compared.right)[number],
            where=matching.wheres[number],
            flag=(None, matching.ends_version)[number],
            key_is_hash=is_hash,
            groups=groups,
            salt=salts[number],
            preserved=(node.how.preserves_left, node.how.preserves_right)[number],
            keeps_late_progress=node.late.action is LateAction.SIDE_OUTPUT,
            carries_hash=carries_hash and number == 0,
        )
        for number, side in enumerate((node.left, node.right))
    ]
    return PackedSides(made[0], made[1], across, is_hash)


@dataclass(frozen=True, slots=True)
class Salt:
    """How many key groups the rows of a key are distributed to, and how many copies a row has."""

    groups: int = 1
    copies: int = 1


def _salts(node: Join, groups: int) -> tuple[Salt, Salt]:
    """Distributes one side over several key groups and copies the other side to all of them.
    Unmatched rows of the copied side are never emitted."""
    count = min(join_kind_of(node).salt(node), groups)
    distributed, copied = Salt(groups=count), Salt(copies=count)
    return (copied, distributed) if node.how is JoinType.RIGHT else (distributed, copied)


def _side(
    number: int,
    side: Input,
    rows: StreamFrame,
    *,
    keys: list[TypedExpression],
    compared: tuple[TypedExpression, ...],
    where: Expression | None,
    flag: Expression | None,
    key_is_hash: bool,
    groups: int,
    salt: Salt,
    preserved: bool,
    keeps_late_progress: bool,
    carries_hash: bool,
) -> PackedSide:
    kind, key_kind, compared_kind = _KINDS[number]
    builder = PacketColumnBuilder(rows, side.alias)
    key_columns = [
        _comparison_column(builder, rows, key_kind.name_of(i), key) for i, key in enumerate(keys)
    ]
    matchable = reduce(Column.__and__, [key.column.isNotNull() for key in key_columns])
    if where is not None:
        matchable = matchable & F.coalesce(guarded(rows.is_data_row, where), F.lit(False))
    fields = buffered_fields(side, rows, kind)
    builder.columns += [time_packet_column(side, builder), *map(field_column, fields)]
    builder.columns += [
        _comparison_column(builder, rows, compared_kind.name_of(i), each)
        for i, each in enumerate(compared)
    ]
    if flag is not None:
        builder.columns.append(
            PacketColumn(FLAG, F.coalesce(guarded(rows.is_data_row, flag), F.lit(False)))
        )
    if where is not None and not preserved:  # otherwise such a row is emitted unmatched
        is_true = F.coalesce(guarded(rows.is_data_row, where), F.lit(False))
        builder.columns.append(
            PacketColumn(PREDICATE, is_true, predicate=builder.packer_predicate(where))
        )
    held_as = _buffered_key_column(keys[0], side.alias, fields) if key_is_hash else None
    hash_from = held_as if where is None else None
    key_hash = F.xxhash64(*(key.column for key in key_columns))
    may_match = (
        None
        if where is None or carries_hash or salt.groups > 1
        else _may_match(builder, rows, where)
    )
    decides_match = where is None or may_match is not None  # to a packer: which rows have a hash
    here = (
        builder.hashable_columns([key.source_column for key in key_columns])
        if decides_match
        else None
    )
    may_match = None if here is None else may_match
    if key_is_hash:
        key_names: tuple[str, ...] = (held_as or HASH,)
    else:
        key_names = tuple(key.name for key in key_columns)
        builder.columns += key_columns
    hash_columns = None
    if hash_from is None and here is not None and not key_is_hash and not carries_hash:
        hash_columns = key_names
    elif hash_from is None:
        value = F.when(matchable, to_hash(key_columns[0].column) if key_is_hash else key_hash)
        source_column = key_columns[0].source_column if key_is_hash and decides_match else None
        names = (HASH, CARRIED_HASH) if carries_hash else (HASH,)
        builder.columns += [
            PacketColumn(name, value, source_column, as_int64=source_column is not None)
            for name in names
        ]
    if here is None or salt.groups > 1:
        # Rows that match nothing are distributed by time. In one group, NULL keys would be a
        # heavy hitter.
        event_time = time_column(side)
        group = F.pmod(F.when(matchable, key_hash).otherwise(F.xxhash64(event_time)), F.lit(groups))
        if salt.groups > 1:
            content = F.xxhash64(F.unix_micros(event_time), *map(_hashable, fields))
            group = F.pmod(group + F.pmod(content, F.lit(salt.groups)), F.lit(groups))
        builder.columns.append(PacketColumn(GROUP, group.cast(IntegerType())))
        here = None
    others = packer_columns(side, rows, builder)
    packed_input = builder.build(
        others,
        hash_columns=hash_columns,
        null_if_missing=True,
        group_columns=here,
        may_match=may_match,
    )
    packer_spec = replace(
        create_packer_spec(number, side, rows, groups, packed_input),
        copies=salt.copies,
        keeps_progress=keeps_late_progress,
    )
    return PackedSide(packed_input, packer_spec, fields, key_names, hash_from)


def _may_match(
    builder: PacketColumnBuilder, rows: StreamFrame, where: Expression
) -> PacketColumn | None:
    """The flag of rows that may match, if a packer can compute it."""
    predicate = builder.packer_predicate(where)
    if predicate is None:
        return None
    return PacketColumn(
        MATCHED, F.coalesce(guarded(rows.is_data_row, where), F.lit(False)), predicate=predicate
    )


def _comparison_column(
    builder: PacketColumnBuilder,
    rows: StreamFrame,
    name: str,
    key: TypedExpression,
) -> PacketColumn:
    expression, kind, common = key
    same = kind == common and is_compared_unchanged(kind)
    value = comparable(guarded(rows.is_data_row, expression), kind, common)
    source_column = builder.source_column_of(expression) if same else None
    return PacketColumn(name, value, source_column, as_int64=isinstance(kind, TimestampType))


def _hashable(field: Field) -> Column:
    """The hash of a column as packets contain it: Spark hashes no maps, which are lists there."""
    return F.hash(field_column(field).column)


def _buffered_key_column(key: TypedExpression, alias: str, fields: tuple[Field, ...]) -> str | None:
    """The buffered 64-bit column that is this key, so that the key is not buffered twice."""
    expression, kind, common = key
    for field in fields:
        same = expression.column_of(alias) == field.name
        if same and kind == common and isinstance(kind, LongType | TimestampType):
            return field.packet_name
    return None
