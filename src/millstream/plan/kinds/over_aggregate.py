"""Describes OVER aggregates: aggregates over a row and those before it."""

from __future__ import annotations

from millstream.plan.document import Description, data, text
from millstream.plan.document.formats import calls_fact
from millstream.plan.expressions.spark_sql import to_spark_sql
from millstream.plan.kinds.base import OperatorFacts, SingleInputKind, StateFacts
from millstream.plan.kinds.single_input import (
    describe_operator,
    expiry_by_ttl,
    has_window_rows,
    input_title,
    partition_fact,
    pass_window_time,
    row_delay,
)
from millstream.plan.kinds.stream_names import input_name
from millstream.plan.nodes import RowsOver
from millstream.temporal import Emit

_LATER_ROW = "a later row of the partition has no preceding rows"


def _state(node: RowsOver) -> StateFacts:
    name = input_name(node.input)
    if not node.calls:
        until = f"a row when the watermark passes its {node.input.time}"
        state = f"rows of open windows of {name}"
        return StateFacts((until,), state, ("a row when its window closes",))
    last = "a running result" if node.preceding is None else f"the last {node.preceding} rows"
    of = "each partition of " if node.partition else ""
    expiry = expiry_by_ttl(
        node.ttl, "partition", has_key=bool(node.partition), after_expiry=_LATER_ROW
    )
    return StateFacts(
        expiry,
        f"{last} of {of}{name}, and rows after the watermark",
        (f"a row when the watermark passes its {node.input.time}",),
    )


def _describe(node: RowsOver, facts: OperatorFacts) -> Description:
    before = "all preceding rows" if node.preceding is None else f"{node.preceding} preceding rows"
    own = (
        data("partition", list(map(to_spark_sql, node.partition))),
        *([partition_fact(node.partition)] if node.calls else []),
        text("order", f"{node.input.alias}.{node.input.time}"),
        data("preceding", node.preceding),
        *([text("frame", f"the row and {before}")] if node.calls else []),
        calls_fact(node.calls),
        data("ttl_us", node.ttl),
    )
    title = f"Rows of {input_title(node.input)}"
    if not node.calls:
        title += ", emitted when their window closes"
    return describe_operator(title, node, facts, own, can_be_late=bool(node.calls))


def _summary(node: RowsOver) -> str:
    return f"aggregates over preceding rows of {input_name(node.input)}"


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
