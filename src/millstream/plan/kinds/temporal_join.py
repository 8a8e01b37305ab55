"""The temporal join: each row with the version of its key that is valid at its time."""

from __future__ import annotations

from millstream.plan.explain.joins import temporal_block
from millstream.plan.explain.json_joins import temporal_data
from millstream.plan.expressions import Expression
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.temporal import hold_of_rows, temporal_facts
from millstream.plan.kinds.base import OperatorKind, delay_of_pairs
from millstream.plan.nodes import TemporalJoin


def _watermark_delay(join: TemporalJoin, carried: Expression | None) -> int:
    """A row is emitted once the watermark has passed it; looking ahead, it waits for the
    tolerance."""
    return delay_of_pairs(join, carried, lambda _: hold_of_rows(join))


def _summary(join: TemporalJoin) -> str:
    one, other = (name_of(side.node, side.alias) for side in (join.left, join.right))
    return f"{join.how} join of {one} and the version of {other} in force"


KIND = OperatorKind[TemporalJoin](
    facts=temporal_facts,
    watermark_delay=_watermark_delay,
    against_native=lambda _: "Spark has no temporal join of streams",
    block=temporal_block,
    data=temporal_data,
    label=lambda join, inputs: f"{join.how} temporal join of {inputs}",
    summary=_summary,
)
