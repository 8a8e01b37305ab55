"""The interval join, and what it shares with the window join."""

from __future__ import annotations

from millstream.plan.explain.joins import bounded_block
from millstream.plan.explain.json_joins import bounded_data
from millstream.plan.expressions import Expression
from millstream.plan.facts.joins import join_facts, needed_retention, waiting
from millstream.plan.kinds.base import OperatorKind, against_late_and_limit, delay_of_pairs
from millstream.plan.nodes import BoundedJoin, IntervalJoin, RegularJoin
from millstream.values import JoinType

SALTED = "Spark spreads rows by their key alone"


def watermark_delay(join: BoundedJoin, carried: Expression | None) -> int:
    return delay_of_pairs(join, carried, lambda number: max(waiting(join, number), 0))


def against_columnar(join: BoundedJoin | RegularJoin) -> str:
    if join.only_spark and join.how is not JoinType.INNER:
        return "only Spark can decide a predicate of ON that decides matching"
    return ""


def _against_native(join: IntervalJoin) -> str:
    if join.salt > 1:
        return SALTED
    if join.how is JoinType.ANTI:
        return "Spark has no LEFT ANTI join of two streams"
    if late := against_late_and_limit(join):
        return late
    if join.retention is not None and join.retention > needed_retention(join):
        return "Spark keeps rows for as long as the bound needs, not for 'join.retention'"
    return ""


def label(join: BoundedJoin, inputs: str) -> str:
    return f"{join.how} join of {inputs}"


def summary(join: BoundedJoin) -> str:
    facts = join_facts(join)
    sides = (f"{side.name} {side.alias}" for side in (facts.left, facts.right))
    return f"{join.how} join of {' and '.join(sides)}"


KIND = OperatorKind[IntervalJoin](
    facts=join_facts,
    watermark_delay=watermark_delay,
    against_columnar=against_columnar,
    against_native=_against_native,
    block=bounded_block,
    data=bounded_data,
    label=label,
    summary=summary,
)
