"""DISTINCT: the first row of each key."""

from __future__ import annotations

from millstream.plan.document import Description, fact
from millstream.plan.expressions.spark_sql import texts, to_spark_sql
from millstream.plan.kinds.base import OperatorFacts, SingleInputKind, StateFacts
from millstream.plan.kinds.single_input import (
    delay_of_rows,
    described,
    named,
    of_windows,
    passing_window_time,
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
        fact("keys", list(map(to_spark_sql, node.keys)), "keys", texts(node.keys)),
        fact("within_us", node.within, "within", within),
    )
    return described(f"Deduplicate {named(node.input)}", node, facts, own)


KIND = SingleInputKind[Deduplicate](
    name="deduplicate",
    state=_state,
    describe=_describe,
    label=lambda _, inputs: f"deduplication of {inputs}",
    summary=lambda node: f"distinct rows of {input_name(node.input)}",
    watermark_delay=delay_of_rows,
    against_native=lambda _: "it has no DISTINCT",
    has_window_time=of_windows,
    with_window_time=passing_window_time,
    keys=lambda node: node.keys,
)
