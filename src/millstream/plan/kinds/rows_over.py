"""Aggregates over a row and those before it."""

from __future__ import annotations

from millstream.plan.explain.json_operators import rows_over_data
from millstream.plan.explain.operators import rows_over_block
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.operators import rows_over_facts
from millstream.plan.kinds.base import OperatorKind, delay_of_rows
from millstream.plan.nodes import RowsOver


def _summary(node: RowsOver) -> str:
    name = name_of(node.input.node, node.input.alias)
    return f"rows of {name} with aggregates over those before"


KIND = OperatorKind[RowsOver](
    facts=rows_over_facts,
    watermark_delay=delay_of_rows,
    against_native=lambda _: "Spark has no OVER (… ROWS …) for streams",
    block=rows_over_block,
    data=rows_over_data,
    label=lambda _, inputs: f"window over rows of {inputs}",
    summary=_summary,
)
