"""The sides of a join as Spark prepares them: key hash, group, event time, columns to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, TimestampType

from millstream.plan.nodes import (
    Compare,
    Input,
    IntervalJoin,
    Join,
    JoinType,
    Logic,
    Predicate,
    RegularJoin,
    TemporalJoin,
)
from millstream.spark.inputs import Field, beside, fields_of, packing_of, time_of, wired_as
from millstream.spark.packets import GROUP, HASH, TIME, Packing
from millstream.spark.stateless import Flow, guarded
from millstream.spark.wire import as_hash, common_type, comparable, hashes_to_itself
from millstream.temporal import LateAction

FLAG = "_flag"  # of a version: it ends its key's
CARRIED = "_carried"  # the key's hash, that goes with the result to the next join by this key


@dataclass(frozen=True, slots=True)
class Side:
    """One side, ready to be packed."""

    frame: DataFrame
    packing: Packing
    fields: tuple[Field, ...]
    keys: tuple[str, ...]
    hash_from: str | None  # the packet column that is the key's hash as it stands, if one is


@dataclass(frozen=True, slots=True)
class Sides:
    left: Side
    right: Side
    across: Predicate | None  # over the names of columns in packets
    key_is_hash: bool


def prepare(
    spark: SparkSession,
    node: Join,
    flows: tuple[Flow, Flow],
    groups: int,
    clocked: bool,
    *,
    carrying: bool = False,
) -> Sides:
    compares: list[Compare] = []
    across: Predicate | None = None
    wheres: tuple[str | None, str | None] = (None, None)
    flags = (None, node.deletes if isinstance(node, TemporalJoin) else None)
    if isinstance(node, IntervalJoin | RegularJoin):
        across = _numbered(node.across, compares) if node.across and not node.only_spark else None
        wheres = (node.left_where, node.right_where)
    pairs = [(key.left, key.right) for key in node.keys]
    keys = _common_types(spark, node, flows, pairs, "The join's key")
    compared = _common_types(
        spark, node, flows, [(c.left, c.right) for c in compares], "A predicate of the join"
    )
    is_hash = len(pairs) == 1 and hashes_to_itself(keys[0][2])
    salts = _salts(node, groups)
    made = [
        _side(
            number,
            side,
            flows[number],
            keys=[
                (pair[number], types[number], types[2])
                for pair, types in zip(pairs, keys, strict=True)
            ],
            compared=[
                (text, types[number], types[2])
                for text, types in zip(
                    [(c.left, c.right)[number] for c in compares], compared, strict=True
                )
            ],
            where=wheres[number],
            flag=flags[number],
            key_is_hash=is_hash,
            groups=groups,
            clocked=clocked,
            salt=salts[number],
            aside=node.late.action is LateAction.SIDE_OUTPUT,
            carrying=carrying and number == 0,
        )
        for number, side in enumerate((node.left, node.right))
    ]
    return Sides(made[0], made[1], across, is_hash)


@dataclass(frozen=True, slots=True)
class Salt:
    """Over how many groups the rows of a key are spread, and in how many a row is held."""

    spread: int = 1
    copies: int = 1


def _salts(node: Join, groups: int) -> tuple[Salt, Salt]:
    """One side is spread over groups; the other, each of whose rows must meet all of that one, is
    held in all of them. It is a side whose rows do not come out alone."""
    count = min(node.salt, groups) if isinstance(node, IntervalJoin | TemporalJoin) else 1
    spread, held = Salt(spread=count), Salt(copies=count)
    return (held, spread) if node.how is JoinType.RIGHT else (spread, held)


def _numbered(predicate: Predicate, found: list[Compare]) -> Predicate:
    """The predicate over packet columns: the i-th comparison is of `lx{i}` with `rx{i}`."""
    if isinstance(predicate, Logic):
        return Logic(predicate.op, tuple(_numbered(term, found) for term in predicate.terms))
    found.append(predicate)
    number = len(found) - 1
    return Compare(f"lx{number}", predicate.op, f"rx{number}")


def _common_types(
    spark: SparkSession,
    node: Join,
    flows: tuple[Flow, Flow],
    pairs: Sequence[tuple[str, str]],
    what: str,
) -> list[tuple[DataType, DataType, DataType]]:
    """For each pair of texts: the type of either, and the one they are compared in."""
    types = []
    for number, side in enumerate((node.left, node.right)):
        frame = flows[number].frame.alias(side.alias)
        chosen = [F.expr(pair[number]).alias(f"c{i}") for i, pair in enumerate(pairs)]
        types.append([field.dataType for field in frame.select(*chosen).schema])
    return [
        (left, right, common_type(spark, left, right, what))
        for left, right in zip(types[0], types[1], strict=True)
    ]


def _side(
    number: int,
    side: Input,
    rows: Flow,
    *,
    keys: list[tuple[str, DataType, DataType]],
    compared: list[tuple[str, DataType, DataType]],
    where: str | None,
    flag: str | None,
    key_is_hash: bool,
    groups: int,
    clocked: bool,
    salt: Salt,
    aside: bool,
    carrying: bool,
) -> Side:
    letter = "lr"[number]
    frame = rows.frame.alias(side.alias)
    event_time = time_of(side)
    wired = [comparable(guarded(rows.sound, text), kind, common) for text, kind, common in keys]
    matchable = reduce(Column.__and__, [key.isNotNull() for key in wired])
    if where is not None:
        matchable = matchable & F.coalesce(guarded(rows.sound, where), F.lit(False))
    hashed = F.xxhash64(*wired)
    key_hash = as_hash(wired[0]) if key_is_hash else hashed
    # Rows that match nothing are spread by time: were they one group, NULL keys would make it hot.
    group = F.pmod(F.when(matchable, hashed).otherwise(F.xxhash64(event_time)), F.lit(groups))
    fields = fields_of(side, rows, letter)
    if salt.spread > 1:
        content = F.xxhash64(F.unix_micros(event_time), *(_hashable(each) for each in fields))
        group = F.pmod(group + F.pmod(content, F.lit(salt.spread)), F.lit(groups))

    columns = [
        group.cast("int").alias(GROUP),
        F.unix_micros(event_time).alias(TIME),
        *map(wired_as, fields),
        *(
            comparable(guarded(rows.sound, text), kind, common).alias(f"{letter}x{i}")
            for i, (text, kind, common) in enumerate(compared)
        ),
    ]
    if flag is not None:
        columns.append(F.coalesce(guarded(rows.sound, flag), F.lit(False)).alias(FLAG))
    held_as = _held_as(keys[0], side.alias, fields) if key_is_hash else None
    hash_from = held_as if where is None else None
    if hash_from is None:
        columns.append(F.when(matchable, key_hash).alias(HASH))
        if carrying:
            columns.append(F.when(matchable, key_hash).alias(CARRIED))
    if key_is_hash:
        key_names: tuple[str, ...] = (held_as or HASH,)
    else:
        key_names = tuple(f"{letter}k{i}" for i in range(len(wired)))
        columns += [key.alias(name) for key, name in zip(wired, key_names, strict=True)]
    packing = replace(
        packing_of(number, side, rows, groups, clocked), copies=salt.copies, keeps_progress=aside
    )
    columns += beside(side, rows, clocked)
    return Side(frame.select(*columns), packing, fields, key_names, hash_from)


def _hashable(field: Field) -> Column:
    """Spark hashes no maps; as they travel they are lists."""
    return F.hash(wired_as(field))


def _held_as(
    key: tuple[str, DataType, DataType], alias: str, fields: tuple[Field, ...]
) -> str | None:
    """The packet column that holds just this key, 64 bits wide: it need not be held twice."""
    text, kind, common = key
    for field in fields:
        same = text.replace("`", "") in (field.name, f"{alias}.{field.name}")
        if same and kind == common and isinstance(kind, LongType | TimestampType):
            return field.wire
    return None
