"""What a plan knows about one kind of operator, as pure functions of its node."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from millstream.plan.document import Description
from millstream.plan.expressions import Expression, column
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds.distribution import Strategy, StrategyKind
from millstream.plan.kinds.open_bounds import TimeBounds
from millstream.plan.kinds.operator_properties import OperatorProperties
from millstream.plan.nodes import WINDOW_TIME, Call, Join, Operator
from millstream.temporal import Emit, LateAction, Window
from millstream.values import PredicateOf

NodeType = TypeVar("NodeType", bound=Operator)


@dataclass(frozen=True, slots=True)
class StateFacts:
    """How long rows stay in state and why, an estimate of the state, and what is emitted when."""

    expiry: tuple[str, ...]
    state_size: str
    emits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """What follows from an operator and the plan below it."""

    operator: Operator
    strategy: Strategy
    expiry: tuple[str, ...]
    state_size: str
    emits: tuple[str, ...]


class TimeFix(Enum):
    """What gives the rows of a query an event time, or keeps them from being retracted."""

    EMIT_FINAL = auto()
    BOUND = auto()
    WINDOW = auto()


@dataclass(frozen=True, slots=True)
class NoEventTime:
    """Why the results of an operator have no event time."""

    cause: str
    fix: TimeFix


def _no_reason(_: Any) -> str:
    return ""


def _none(_: Any) -> None:
    return None


def _empty_tuple(_: Any) -> tuple[()]:
    return ()


def _empty_list(_: Any) -> list[str]:
    return []


def _never(_: Any) -> bool:
    return False


def _unchanged(node: Any) -> tuple[Any, Expression]:
    return node, column(None, WINDOW_TIME, "TIMESTAMP")


def _all_selected(_: Any, __: Collection[str]) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class OperatorKind(Generic[NodeType]):
    """One kind of operator. A reason is a sentence without its full stop; an empty one means that
    the engine can run it."""

    name: str  # in JSON
    state: Callable[[NodeType], StateFacts]
    describe: Callable[[NodeType, OperatorFacts], Description]  # in `explain`
    label: Callable[[NodeType, str], str]  # in the ledger, over the names of its inputs
    summary: Callable[[NodeType], str]  # in the first lines of `millstream run`
    # of results that carry the event time of input number n
    watermark_delay: Callable[[NodeType, int], int]
    native_limitation: Callable[[NodeType], str]  # why Spark's own operators cannot run it
    columnar_limitation: Callable[[NodeType], str] = _no_reason

    # when results are emitted, and the window that they are of
    emit: Callable[[NodeType], Emit | None] = _none
    window: Callable[[NodeType], Window | None] = _none
    # Can results have the time of their window? The node whose users read it, and how they do.
    has_window_time: Callable[[NodeType], bool] = _never
    with_window_time: Callable[[NodeType], tuple[NodeType, Expression]] = _unchanged
    no_event_time: Callable[[NodeType], NoEventTime | None] = _none

    # results that are retracted: does a key tell which row a change replaces?
    has_change_key: bool = True
    # part of that key that is not among the columns shown
    unselected_key: Callable[[NodeType, Collection[str]], str | None] = _all_selected
    # are keys removed from state without a retraction?
    expires_without_retraction: Callable[[NodeType], bool] = _never
    # what decides over rows of an input that may be retracted
    expressions_over_retractions: Callable[[NodeType], tuple[Expression | None, ...]] = _empty_tuple


@dataclass(frozen=True, kw_only=True)
class SingleInputKind(OperatorKind[NodeType]):
    """A kind of operator with one input."""

    keys: Callable[[NodeType], tuple[Expression, ...]]
    unkeyed: StrategyKind = "single"  # how rows are distributed without a key
    calls: Callable[[NodeType], tuple[Call, ...]] = _empty_tuple
    # what is compared beside keys and calls
    compared_expressions: Callable[[NodeType], tuple[Expression, ...]] = _empty_tuple
    # groups as a partition of rows, in SQL; none if rows do not know their group
    as_partition: Callable[[NodeType], list[str]] = _empty_list
    buffers_rows: bool = True  # are rows in state, rather than results over them?


@dataclass(frozen=True, slots=True)
class Matching:
    """The predicates of a join beside its key and bound. `across` is what the kernel evaluates of
    `across_sql`."""

    left_where: Expression | None = None
    right_where: Expression | None = None
    across: PredicateOf[Expression] | None = None
    across_sql: Expression | None = None
    only_spark: bool = False
    ends_version: Expression | None = None  # of right rows: they end the version of their key

    @property
    def wheres(self) -> tuple[Expression | None, Expression | None]:
        return self.left_where, self.right_where


@dataclass(frozen=True, slots=True)
class JoinWindows:
    """The windows that a join gives its sides, and how long after its end one accepts rows."""

    left: Window
    right: Window
    lateness: int

    @property
    def are_equal(self) -> bool:
        return self.left == self.right


@dataclass(frozen=True, slots=True)
class WindowTimes:
    """How far the time of its window and its own time are after the time by which a row of a side
    is joined."""

    window: TimeBounds
    row: TimeBounds


def _no_matching(_: Any) -> Matching:
    return Matching()


def _unsalted(_: Any) -> int:
    return 1


def _no_bounds(_: Any) -> TimeBounds:
    return TimeBounds()


def _no_window_times(_: Any, __: int) -> WindowTimes | None:
    return None


@dataclass(frozen=True, kw_only=True)
class StreamJoinKind(OperatorKind[NodeType]):
    """A kind of join of two streams."""

    type: JoinKind  # as 'join.type' says it
    properties: Callable[[NodeType], OperatorProperties]
    matching: Callable[[NodeType], Matching] = _no_matching
    salt: Callable[[NodeType], int] = _unsalted
    bound: Callable[[NodeType], str | None] = _none  # between times of a pair, in words
    # how far the right time of a pair is after the left one
    time_bounds: Callable[[NodeType], TimeBounds] = _no_bounds
    windows: Callable[[NodeType], JoinWindows | None] = _none
    window_times: Callable[[NodeType, int], WindowTimes | None] = _no_window_times
    emits_window: bool = False  # beside the columns of both sides
    # inputs that can be read in the key group of the join below, and whether its results can be
    shared_inputs: Callable[[NodeType], tuple[int, ...]] = _empty_tuple
    stays_in_group: Callable[[NodeType], bool] = _never


def late_and_limit_limitation(operator: Operator) -> str:
    """Why Spark cannot do what late policy and state limit ask for."""
    if operator.late.action is LateAction.SIDE_OUTPUT:
        return "Spark drops late rows before they can be put out"
    if operator.late.action is LateAction.REASSIGN:
        return "Spark drops late rows before they can get another time"
    if operator.limit.max_rows is not None or operator.limit.max_bytes is not None:
        what = "a join" if isinstance(operator, Join) else "an operator"
        return f"Spark cannot limit the state of {what}"
    return ""
