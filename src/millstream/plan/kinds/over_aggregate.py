"""Aggregates over a row and those before it."""

from __future__ import annotations

from millstream.plan.document import Description, data, text
from millstream.plan.document.formats import calls_fact
from millstream.plan.expressions.spark_sql import to_spark_sql
from millstream.plan.kinds.base import OperatorFacts, SingleInputKind, StateFacts
from millstream.plan.kinds.single_input import (
    row_delay,
    describe_operator,
    input_title,
    has_window_rows,
    partition_fact,
    pass_window_time,
    expiry_by_ttl,
)
from millstream.plan.kinds.stream_names import input_name
from millstream.plan.nodes import RowsOver
from millstream.temporal import Emit

_LATER_ROW = "a row of it that comes later has no rows before it"


def _state(node: RowsOver) -> StateFacts:
    name = input_name(node.input)
    if not node.calls:
        until = f"a row is held until the watermark passes its {node.input.time}"
        state = f"rows of open windows of {name}"
        return StateFacts((until,), state, ("a row when its window closes",))
    last = "a running result" if node.preceding is None else f"the last {node.preceding} rows"
    of = "each partition of " if node.partition else ""
    held = expiry_by_ttl(
        node.ttl,
        "a partition",
        keyed=bool(node.partition),
        one="the one partition",
        anew=_LATER_ROW,
    )
    return StateFacts(
        held,
        f"{last} of {of}{name}, and rows that the watermark has not passed",
        (f"a row once the watermark has passed its {node.input.time}",),
    )


def _describe(node: RowsOver, facts: OperatorFacts) -> Description:
    before = "all rows before it" if node.preceding is None else f"{node.preceding} rows before it"
    own = (
        data("partition", list(map(to_spark_sql, node.partition))),
        *([partition_fact(node.partition)] if node.calls else []),
        text("order", f"{node.input.alias}.{node.input.time}"),
        data("preceding", node.preceding),
        *([text("frame", f"a row and {before}")] if node.calls else []),
        calls_fact(node.calls),
        data("ttl_us", node.ttl),
    )
    title = f"Rows of {input_title(node.input)}"
    if not node.calls:
        title += ", once their window is closed"
    return describe_operator(title, node, facts, own, can_be_late=bool(node.calls))


def _summary(node: RowsOver) -> str:
    return f"rows of {input_name(node.input)} with aggregates over those before"


KIND = SingleInputKind[RowsOver](
    name="rows_over",
    state=_state,
    describe=_describe,
    label=lambda _, inputs: f"window over rows of {inputs}",
    summary=_summary,
    watermark_delay=row_delay,
    native_limitation=lambda _: "Spark has no OVER (… ROWS …) for streams",
    emit=lambda node: None if node.calls else Emit.FINAL,  # rows of a window, once it closes
    has_window_time=has_window_rows,
    with_window_time=pass_window_time,
    keys=lambda node: node.partition,
    calls=lambda node: node.calls,
)
