"""GROUP BY, with a window or without."""

from __future__ import annotations

from millstream.plan.explain.json_operators import aggregate_data
from millstream.plan.explain.operators import aggregate_block
from millstream.plan.expressions import Expression
from millstream.plan.facts.joins import name_of
from millstream.plan.facts.operators import aggregate_facts
from millstream.plan.kinds.base import OperatorKind, against_late_and_limit
from millstream.plan.nodes import Aggregate
from millstream.temporal import Emit, WindowKind

_SKETCHES = ("approx_count_distinct", "approx_percentile")


def _watermark_delay(node: Aggregate, _: Expression | None) -> int:
    """A window may change for as long as the allowed lateness; a session also at its end."""
    session = node.window is not None and node.window.kind is WindowKind.SESSION
    return node.lateness + session


def _against_native(node: Aggregate) -> str:
    window = node.window
    if window is None or node.emit is Emit.CHANGES:
        return "Spark tells changed rows without the old ones"
    if window.kind is WindowKind.GIVEN:
        return "Spark cannot close windows that rows come with"
    if window.wall_clock:
        return "Spark's windows go by event time"
    if window.kind is WindowKind.SESSION and not node.keys:
        return "Spark has no sessions without a key"
    if node.lateness:
        return "Spark drops late rows, and does not fire a window again"
    return against_late_and_limit(node) or _against_calls(node)


def _against_calls(node: Aggregate) -> str:
    for call in node.calls:
        if call.function in ("first", "last"):
            return f"Spark's own {call.function} goes by arrival, not by event time"
        if call.function in _SKETCHES:
            return f"Spark's own {call.function} has another sketch, with other results"
        if call.function == "count_distinct":
            return "Spark has no COUNT(DISTINCT …) over streams"
    return ""


def _summary(node: Aggregate) -> str:
    name = name_of(node.input.node, node.input.alias)
    return f"aggregates of {name}{f' in {node.window}' if node.window else ''}"


KIND = OperatorKind[Aggregate](
    facts=aggregate_facts,
    watermark_delay=_watermark_delay,
    against_native=_against_native,
    block=aggregate_block,
    data=aggregate_data,
    label=lambda _, inputs: f"aggregate of {inputs}",
    summary=_summary,
)
