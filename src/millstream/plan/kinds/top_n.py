"""The first rows of each partition."""

from __future__ import annotations

from millstream.plan.explain.json_operators import top_n_data
from millstream.plan.explain.operators import top_n_block
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.operators import top_n_facts
from millstream.plan.kinds.base import OperatorKind, delay_of_rows
from millstream.plan.nodes import TopN

KIND = OperatorKind[TopN](
    facts=top_n_facts,
    watermark_delay=delay_of_rows,
    against_native=lambda _: "Spark has no first rows of a partition for streams",
    block=top_n_block,
    data=top_n_data,
    label=lambda node, inputs: f"top {node.n} of {inputs}",
    summary=lambda node: f"top {node.n} of {name_of(node.input.node, node.input.alias)}",
)
