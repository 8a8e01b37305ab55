"""The session join: rows of sessions of both sides that meet."""

from __future__ import annotations

from millstream.plan.explain.joins import pairs_block
from millstream.plan.explain.json_joins import pairs_data
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.pairs import session_facts
from millstream.plan.kinds.base import OperatorKind
from millstream.plan.nodes import SessionJoin


def _summary(join: SessionJoin) -> str:
    one, other = (name_of(side.node, side.alias) for side in (join.left, join.right))
    return f"{join.how} join of sessions of {one} and {other}"


KIND = OperatorKind[SessionJoin](
    facts=session_facts,
    # A row just at the end of a session would still extend it.
    watermark_delay=lambda join, _: join.lateness + 1,
    against_native=lambda _: "Spark has no join of sessions",
    block=pairs_block,
    data=pairs_data,
    label=lambda join, inputs: f"{join.how} session join of {inputs}",
    summary=_summary,
)
