"""Describes DISTINCT: the first row of each key."""

from __future__ import annotations

from millstream.plan.document import Description, fact
from millstream.plan.expressions.spark_sql import sql_list, to_spark_sql
from millstream.plan.kinds.base import OperatorFacts, SingleInputKind, StateFacts
from millstream.plan.kinds.single_input import (
    describe_operator,
    has_window_rows,
    input_title,
    pass_window_time,
    row_delay,
)
from millstream.plan.kinds.stream_names import input_name
from millstream.plan.nodes import Deduplicate
from millstream.temporal import format_span


def _state(node: Deduplicate) -> StateFacts:
    emits = ("the first row of each key, when it arrives",)
    name = input_name(node.input)
    if node.within is None:
        expiry = ("never: 'state.ttl' = 'forever'",)
        return StateFacts(expiry, f"one row per key of {name}", emits)
    span = format_span(node.within)
    return StateFacts(
        (
            f"a key when the watermark passes its first row + {span} ('state.ttl')",
            f"a row of the key that is more than {span} away from it is emitted again",
        ),
        f"one row per key in the last {span} of {name}",
        emits,
    )


def _describe(node: Deduplicate, facts: OperatorFacts) -> Description:
    within = "forever" if node.within is None else format_span(node.within)
    own = (
        fact("keys", list(map(to_spark_sql, node.keys)), "keys", sql_list(node.keys)),
        fact("within_us", node.within, "within", within),
    )
    return describe_operator(f"Deduplicate {input_title(node.input)}", node, facts, own)


KIND = SingleInputKind[Deduplicate](
    name="deduplicate",
    state=_state,
    describe=_describe,
    label=lambda _, inputs: f"deduplication of {inputs}",
    summary=lambda node: f"distinct rows of {input_name(node.input)}",
    watermark_delay=row_delay,
    native_limitation=lambda _: "Spark has no DISTINCT with 'state.ttl' over streams",
    has_window_time=has_window_rows,
    with_window_time=pass_window_time,
    keys=lambda node: node.keys,
)
