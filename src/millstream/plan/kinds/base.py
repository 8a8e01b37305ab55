"""What a plan knows about one kind of operator, and what kinds share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream.plan.explain.blocks import Block
from millstream.plan.expressions import Expression
from millstream.plan.joins.distances import ahead_of_own, columns_of
from millstream.plan.nodes import Join, Operator
from millstream.temporal import LateAction, LatePolicy

NodeType = TypeVar("NodeType")


def _no_reason(_: Any) -> str:
    return ""


@dataclass(frozen=True)
class OperatorKind(Generic[NodeType]):
    """One kind of operator as pure functions of its node.

    A reason is a sentence without its full stop; an empty one means that the engine can run it.
    `block` and `data` take what `facts` returns and the inputs, already as blocks or data.
    """

    facts: Callable[[NodeType], Any]  # strategy, retention, state bound, what is emitted when
    # of a result with this event time; None: no column of it carries one
    watermark_delay: Callable[[NodeType, Expression | None], int]
    against_native: Callable[[NodeType], str]  # why Spark's own operators cannot run it
    block: Callable[[Any, tuple[Block, ...]], Block]  # in `explain`
    data: Callable[[Any, list[dict[str, Any]]], dict[str, Any]]  # in `explain --json`
    label: Callable[[NodeType, str], str]  # in the ledger, over the names of its inputs
    summary: Callable[[NodeType], str]  # in the first lines of `millstream run`
    against_columnar: Callable[[NodeType], str] = _no_reason


def against_late_and_limit(operator: Operator) -> str:
    """Why Spark cannot do what late policy and state limit ask for."""
    if operator.late.action is LateAction.SIDE_OUTPUT:
        return "Spark drops late rows before they can be put out"
    if operator.late.action is LateAction.REASSIGN:
        return "Spark drops late rows before they can get another time"
    if operator.limit.max_rows is not None or operator.limit.max_bytes is not None:
        what = "a join" if isinstance(operator, Join) else "an operator"
        return f"Spark cannot limit the state of {what}"
    return ""


def reassigned(late: LatePolicy) -> int:
    """How far behind the watermark the column of a row may be that counts as in time."""
    return late.budget if late.action is LateAction.REASSIGN else 0


def delay_of_pairs(join: Join, carried: Expression | None, own: Callable[[int], int]) -> int:
    """The delay of a join's result with the time `carried`. `own` is the delay of the time that
    the join uses on a side; another time may be before that one."""
    assert carried is not None, "the result of a join has no time of its own"
    delays = []
    for number, name in columns_of(join, carried):
        least = ahead_of_own(join, number, name).lower
        assert least is not None, f"{carried} is no event time of the join"
        delays.append(max(own(number) - least, 0))
    return max(delays) + reassigned(join.late)


def delay_of_rows(operator: Operator, _: Expression | None) -> int:
    """The delay of rows that are emitted as they arrive, or once the watermark has passed them."""
    return reassigned(operator.late)
