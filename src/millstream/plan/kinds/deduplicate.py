"""DISTINCT: the first row of each key."""

from __future__ import annotations

from millstream.plan.document import Description, fact
from millstream.plan.expressions.spark_sql import sql_list, to_spark_sql
from millstream.plan.kinds.base import OperatorFacts, SingleInputKind, StateFacts
from millstream.plan.kinds.single_input import (
    row_delay,
    describe_operator,
    input_title,
    has_window_rows,
    pass_window_time,
)
from millstream.plan.kinds.stream_names import input_name
from millstream.plan.nodes import Deduplicate
from millstream.temporal import format_span


def _state(node: Deduplicate) -> StateFacts:
    comes_out = ("the first row of a key, when it arrives; no other",)
    name = input_name(node.input)
    if node.within is None:
        held = ("a key is held for ever, as 'state.ttl' = 'forever' asks",)
        return StateFacts(held, f"a row for each key of {name} that ever came", comes_out)
    span = format_span(node.within)
    until = f"the watermark passes the time of the row that passed + {span}"
    return StateFacts(
        (
            f"a key is held until {until}, as 'state.ttl' asks",
            f"a row of the same key more than {span} away from it passes again",
        ),
        f"a row for each key of the last {span} of {name}",
        comes_out,
    )


def _describe(node: Deduplicate, facts: OperatorFacts) -> Description:
    within = "for ever" if node.within is None else format_span(node.within)
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
    native_limitation=lambda _: "it has no DISTINCT",
    has_window_time=has_window_rows,
    with_window_time=pass_window_time,
    keys=lambda node: node.keys,
)
