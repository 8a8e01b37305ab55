"""DISTINCT: the first row of each key."""

from __future__ import annotations

from millstream.plan.explain.json_operators import deduplicate_data
from millstream.plan.explain.operators import deduplicate_block
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.operators import deduplicate_facts
from millstream.plan.kinds.base import OperatorKind, delay_of_rows
from millstream.plan.nodes import Deduplicate

KIND = OperatorKind[Deduplicate](
    facts=deduplicate_facts,
    watermark_delay=delay_of_rows,
    against_native=lambda _: "it has no DISTINCT",
    block=deduplicate_block,
    data=deduplicate_data,
    label=lambda _, inputs: f"deduplication of {inputs}",
    summary=lambda node: f"distinct rows of {name_of(node.input.node, node.input.alias)}",
)
