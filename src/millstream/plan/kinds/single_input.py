"""Facts and expiry texts that operators with one input share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from millstream.plan.document import Description, Fact, data, fact, text
from millstream.plan.document.formats import (
    late_fact,
    limit_fact,
    used_columns_text,
    watermark_text,
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
    """Describes an operator with one input.

    Args:
        own: The facts of the kind.
        can_be_late: Rows with an event time can be late.
    """
    has_time = node.input.time is not None
    return Description(
        title,
        (
            *own,
            *([text("watermark", watermark_text(node.input))] if has_time else []),
            data("retracts", node.retracts),
            data("strategy", str(facts.strategy)),
            fact("expiry", list(facts.expiry), "expiry", *facts.expiry),
            fact("state_size", facts.state_size, "state size", facts.state_size),
            *([text("in state", used_columns_text(node.input))] if buffers_rows else []),
            late_fact(node.late, shown=can_be_late and has_time),
            limit_fact(node.limit),
            fact("emits", list(facts.emits), "emits", *facts.emits),
        ),
    )


def input_title(side: Input) -> str:
    return with_alias(input_name(side), side.alias)


def emit_fact(node: Aggregate | TopN) -> Fact:
    changes = "; the input may retract rows" if node.over_changes else ""
    return fact("emit", str(node.emit), "emit", f"{node.emit}{changes}")


def partition_fact(found: tuple[Expression, ...]) -> Fact:
    """Returns the text of a partition's key; each kind adds the data."""
    return text("partition", sql_list(found) or "none: all rows")


def expiry_by_ttl(
    ttl: int | None, what: str, *, has_key: bool, after_expiry: str
) -> tuple[str, ...]:
    """Describes when state without a window expires.

    `what` is a group or partition; `after_expiry` says what a row starts whose key has expired.
    """
    if ttl is None:
        return ("never: 'state.ttl' = 'forever'" if has_key else f"never: there is one {what}",)
    until = f"the watermark passes its last row + {format_span(ttl)}"
    return f"a {what} when {until} ('state.ttl')", after_expiry


def row_delay(node: SingleInput, _: int) -> int:
    """Returns the watermark delay of rows emitted on arrival or once the watermark passes them.

    A late row that is reassigned still carries its own time.
    """
    return node.late.budget if node.late.action is LateAction.REASSIGN else 0


def has_window_rows(node: SingleInput) -> bool:
    """Returns whether rows of the input are results of windows."""
    return node.input.time == WINDOW_TIME


def pass_window_time(node: Buffering) -> tuple[Buffering, Expression]:
    """Returns the node with the window time of its input among its results."""
    time = column(None, WINDOW_TIME, "TIMESTAMP")
    if WINDOW_TIME in node.input.used:
        return node, time
    used = (*node.input.used, WINDOW_TIME)
    return replace(node, input=replace(node.input, used=used)), time
