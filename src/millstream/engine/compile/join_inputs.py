"""The sides of a join as Spark prepares them: key hash, group, event time, columns to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegerType, LongType, TimestampType

from millstream.engine.compile.expressions import types_of
from millstream.engine.compile.input_columns import (
    Field,
    beside,
    fields_of,
    packing_of,
    time_column,
    time_of,
    wired_as,
)
from millstream.engine.compile.packet_columns import Made, Ready, Sent
from millstream.engine.compile.stateless import Flow, guarded
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.packer import GROUP, HASH, Packing
from millstream.engine.shuffle.types import (
    as_hash,
    common_type,
    comparable,
    compared_as_it_is,
    hashes_to_itself,
)
from millstream.kernels.core.kernel import PREDICATE
from millstream.plan.expressions import Expression
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import Input, Join
from millstream.temporal import LateAction
from millstream.values import Compare, JoinType, Logic, Predicate, PredicateOf

MATCHED = "_matched"  # false: the row meets no other, as if it lacked its key
FLAG = "_flag"  # of a version: it ends its key's
CARRIED = "_carried"  # the key's hash, that goes with the result to the next join by this key
_KINDS = (
    (Kind.LEFT, Kind.LEFT_KEY, Kind.LEFT_COMPARED),
    (Kind.RIGHT, Kind.RIGHT_KEY, Kind.RIGHT_COMPARED),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One side, ready to be packed."""

    ready: Ready
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
    *,
    carrying: bool = False,
) -> Sides:
    compares: list[Compare[Expression]] = []
    across: Predicate | None = None
    matching = join_kind_of(node).matching(node)
    if matching.across and not matching.only_spark:
        across = _numbered(matching.across, compares)
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
                (value, types[number], types[2])
                for value, types in zip(
                    [(c.left, c.right)[number] for c in compares], compared, strict=True
                )
            ],
            where=matching.wheres[number],
            flag=(None, matching.ends_version)[number],
            key_is_hash=is_hash,
            groups=groups,
            salt=salts[number],
            preserved=(node.how.keeps_left, node.how.keeps_right)[number],
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
    count = min(join_kind_of(node).salt(node), groups)
    spread, held = Salt(spread=count), Salt(copies=count)
    return (held, spread) if node.how is JoinType.RIGHT else (spread, held)


def _numbered(predicate: PredicateOf[Expression], found: list[Compare[Expression]]) -> Predicate:
    """The predicate over packet columns: the i-th comparison is of `lx{i}` with `rx{i}`."""
    if isinstance(predicate, Logic):
        return Logic(predicate.op, tuple(_numbered(term, found) for term in predicate.terms))
    found.append(predicate)
    number = len(found) - 1
    return Compare(
        Kind.LEFT_COMPARED.name_of(number), predicate.op, Kind.RIGHT_COMPARED.name_of(number)
    )


def _common_types(
    spark: SparkSession,
    node: Join,
    flows: tuple[Flow, Flow],
    pairs: Sequence[tuple[Expression, Expression]],
    what: str,
) -> list[tuple[DataType, DataType, DataType]]:
    """For each pair of expressions: the type of either, and the one they are compared in."""
    types = []
    for number, side in enumerate((node.left, node.right)):
        rows, values = flows[number].rows, [pair[number] for pair in pairs]
        types.append(types_of(rows, side.alias, values))
    return [
        (left, right, common_type(spark, left, right, what))
        for left, right in zip(types[0], types[1], strict=True)
    ]


def _side(
    number: int,
    side: Input,
    rows: Flow,
    *,
    keys: list[tuple[Expression, DataType, DataType]],
    compared: list[tuple[Expression, DataType, DataType]],
    where: Expression | None,
    flag: Expression | None,
    key_is_hash: bool,
    groups: int,
    salt: Salt,
    preserved: bool,
    aside: bool,
    carrying: bool,
) -> Side:
    kind, key_kind, compared_kind = _KINDS[number]
    sent = Sent(rows, side.alias)
    wired = [_compared(sent, rows, key_kind.name_of(i), key) for i, key in enumerate(keys)]
    matchable = reduce(Column.__and__, [key.column.isNotNull() for key in wired])
    if where is not None:
        matchable = matchable & F.coalesce(guarded(rows.sound, where), F.lit(False))
    fields = fields_of(side, rows, kind)
    sent.made += [time_of(side, sent), *map(wired_as, fields)]
    sent.made += [
        _compared(sent, rows, compared_kind.name_of(i), each) for i, each in enumerate(compared)
    ]
    if flag is not None:
        sent.made.append(Made(FLAG, F.coalesce(guarded(rows.sound, flag), F.lit(False))))
    if where is not None and not preserved:  # otherwise such a row is emitted unmatched
        is_true = F.coalesce(guarded(rows.sound, where), F.lit(False))
        sent.made.append(Made(PREDICATE, is_true, asked=sent.asked(where)))
    held_as = _held_as(keys[0], side.alias, fields) if key_is_hash else None
    hash_from = held_as if where is None else None
    key_hash = F.xxhash64(*(key.column for key in wired))
    matched = None if where is None or carrying or salt.spread > 1 else _matched(sent, rows, where)
    told = where is None or matched is not None  # to a packer: which rows have a hash
    here = sent.hashable([key.plain for key in wired]) if told else None
    matched = None if here is None else matched
    if key_is_hash:
        key_names: tuple[str, ...] = (held_as or HASH,)
    else:
        key_names = tuple(key.name for key in wired)
        sent.made += wired
    hashed = None
    if hash_from is None and here is not None and not key_is_hash and not carrying:
        hashed = key_names
    elif hash_from is None:
        value = F.when(matchable, as_hash(wired[0].column) if key_is_hash else key_hash)
        plain = wired[0].plain if key_is_hash and told else None
        names = (HASH, CARRIED) if carrying else (HASH,)
        sent.made += [Made(name, value, plain, wide=plain is not None) for name in names]
    if here is None or salt.spread > 1:
        # Rows that match nothing are spread by time: were they one group, NULL keys would make it
        # hot.
        event_time = time_column(side)
        group = F.pmod(F.when(matchable, key_hash).otherwise(F.xxhash64(event_time)), F.lit(groups))
        if salt.spread > 1:
            content = F.xxhash64(F.unix_micros(event_time), *map(_hashable, fields))
            group = F.pmod(group + F.pmod(content, F.lit(salt.spread)), F.lit(groups))
        sent.made.append(Made(GROUP, group.cast(IntegerType())))
        here = None
    others = beside(side, rows, sent)
    ready = sent.ready(others, hashed=hashed, some=True, grouped=here, matched=matched)
    packing = replace(
        packing_of(number, side, rows, groups, ready),
        copies=salt.copies,
        keeps_progress=aside,
    )
    return Side(ready, packing, fields, key_names, hash_from)


def _matched(sent: Sent, rows: Flow, where: Expression) -> Made | None:
    """What a packer asks of rows, if it can."""
    asked = sent.asked(where)
    if asked is None:
        return None
    return Made(MATCHED, F.coalesce(guarded(rows.sound, where), F.lit(False)), asked=asked)


def _compared(
    sent: Sent, rows: Flow, name: str, key: tuple[Expression, DataType, DataType]
) -> Made:
    expression, kind, common = key
    same = kind == common and compared_as_it_is(kind)
    value = comparable(guarded(rows.sound, expression), kind, common)
    plain = sent.plain(expression) if same else None
    return Made(name, value, plain, wide=isinstance(kind, TimestampType))


def _hashable(field: Field) -> Column:
    """Spark hashes no maps; as they travel they are lists."""
    return F.hash(wired_as(field).column)


def _held_as(
    key: tuple[Expression, DataType, DataType], alias: str, fields: tuple[Field, ...]
) -> str | None:
    """The packet column that holds just this key, 64 bits wide: it need not be held twice."""
    expression, kind, common = key
    for field in fields:
        same = expression.column_of(alias) == field.name
        if same and kind == common and isinstance(kind, LongType | TimestampType):
            return field.wire
    return None
