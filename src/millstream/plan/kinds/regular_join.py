"""The regular join: pairs with equal keys, however far apart, within 'state.ttl'."""

from __future__ import annotations

from millstream.plan.explain.joins import pairs_block
from millstream.plan.explain.json_joins import pairs_data
from millstream.plan.expressions import Expression
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.pairs import regular_facts
from millstream.plan.kinds.base import OperatorKind, delay_of_pairs
from millstream.plan.kinds.interval_join import against_columnar
from millstream.plan.nodes import RegularJoin


def _watermark_delay(join: RegularJoin, carried: Expression | None) -> int:
    """No row of a pair is older than 'state.ttl' allows."""
    ttl = join.ttl
    assert ttl is not None, "rows that are held for ever have no event time"
    return delay_of_pairs(join, carried, lambda _: ttl)


def _summary(join: RegularJoin) -> str:
    one, other = (name_of(side.node, side.alias) for side in (join.left, join.right))
    return f"{join.how} join of {one} and {other}, whenever they came"


KIND = OperatorKind[RegularJoin](
    facts=regular_facts,
    watermark_delay=_watermark_delay,
    against_columnar=against_columnar,
    against_native=lambda _: (
        "Spark has no join that lets rows go by 'state.ttl' or takes pairs back"
    ),
    block=pairs_block,
    data=pairs_data,
    label=lambda join, inputs: f"{join.how} regular join of {inputs}",
    summary=_summary,
)
