"""What kinds of operators with one input share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from millstream.plan.document import Description, Fact, data, fact, text
from millstream.plan.document.formats import (
    watermark_text,
    late_fact,
    limit_fact,
    used_columns_text,
)
from millstream.plan.expressions import Expression, column
from millstream.plan.expressions.spark_sql import sql_list
from millstream.plan.kinds.base import OperatorFacts
from millstream.plan.kinds.stream_names import input_name, with_alias
from millstream.plan.nodes import (
    WINDOW_TIME,
    Aggregate,
    Deduplicate,
    Input,
    RowsOver,
    SingleInput,
    TopN,
)
from millstream.temporal import LateAction, format_span

Buffering = TypeVar("Buffering", Deduplicate, TopN, RowsOver)


def describe_operator(
    title: str,
    node: SingleInput,
    facts: OperatorFacts,
    own: Sequence[Fact],
    *,
    can_be_late: bool = True,
    buffers_rows: bool = True,
) -> Description:
    """`own` are the facts of the kind. `can_be_late`: rows with an event time can be late."""
    timed = node.input.time is not None
    return Description(
        title,
        (
            *own,
            *([text("watermark", watermark_text(node.input))] if timed else []),
            data("retracts", node.retracts),
            data("strategy", str(facts.strategy)),
            fact("held", list(facts.expiry), "held", *facts.expiry),
            fact("state", facts.state_size, "state", facts.state_size),
            *([text("columns", f"held: {used_columns_text(node.input)}")] if buffers_rows else []),
            late_fact(node.late, shown=can_be_late and timed),
            limit_fact(node.limit),
            fact("comes_out", list(facts.emits), "comes out", *facts.emits),
        ),
    )


def input_title(side: Input) -> str:
    return with_alias(input_name(side), side.alias)


def emit_fact(node: Aggregate | TopN) -> Fact:
    changes = "; rows of the input may be taken back" if node.over_changes else ""
    return fact("emit", str(node.emit), "emit", f"{node.emit}{changes}")


def partition_fact(found: tuple[Expression, ...]) -> Fact:
    """The key of a partition in words; a kind adds it as data."""
    return text("partition", sql_list(found) or "none: all rows")


def expiry_by_ttl(
    ttl: int | None, what: str, *, keyed: bool, one: str, anew: str
) -> tuple[str, ...]:
    """How long state without a window is held. `one` says what there is of it without a key, `anew`
    what happens to a row whose key has expired."""
    if ttl is None:
        if not keyed:
            return (f"{one} is held for ever",)
        return (f"{what} is held for ever, as 'state.ttl' = 'forever' asks",)
    until = f"the watermark passes its last row + {format_span(ttl)}"
    return f"{what} is held until {until}, as 'state.ttl' asks", anew


def row_delay(node: SingleInput, _: int) -> int:
    """The delay of rows that are emitted as they arrive, or once the watermark has passed them.
    A late row that is reassigned still carries its own time."""
    return node.late.budget if node.late.action is LateAction.REASSIGN else 0


def has_window_rows(node: SingleInput) -> bool:
    """Are rows of the input results of windows?"""
    return node.input.time == WINDOW_TIME


def pass_window_time(node: Buffering) -> tuple[Buffering, Expression]:
    """The node whose results have the window's time of its input."""
    time = column(None, WINDOW_TIME, "TIMESTAMP")
    if WINDOW_TIME in node.input.used:
        return node, time
    used = (*node.input.used, WINDOW_TIME)
    return replace(node, input=replace(node.input, used=used)), time
