"""The record that describes one kind of operator by pure functions of its node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, Literal, TypeVar

from millstream.plan.document import Description
from millstream.plan.expressions import Expression, column
from millstream.plan.kinds.operator_properties import OperatorProperties
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.nodes import (
    WINDOW_TIME,
    Call,
    Join,
    JoinKind,
    Operator,
    UnsupportedPart,
)
from millstream.scalars import PredicateOf
from millstream.temporal import Emit, LateAction, Window

StrategyKind = Literal[
    "hash", "repartition", "shared", "two-phase", "single", "broadcast", "passthrough"
]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the rows of an operator are distributed over the tasks."""

    kind: StrategyKind
    key: str | None = None
    sides: int = 1

    @property
    def brief(self) -> str:
        """A short form for a list of strategies."""
        if self.kind == "broadcast":
            return f"broadcast of {self.key}"
        return str(self).split(": ")[0]

    def __str__(self) -> str:
        prefix = "co-partitioned " if self.kind == "hash" and self.sides > 1 else ""
        return prefix + _STRATEGIES[self.kind].format(key=self.key)


_STRATEGIES: dict[StrategyKind, str] = {
    "hash": "hash by {key}",
    "repartition": "repartition by {key}: a second shuffle, of the results of the operator below",
    "shared": "co-located by {key}: no second shuffle, the operator below shares this key",
    "two-phase": "two-phase: partial aggregates where rows are read, merged in one task",
    "single": "single: all rows go to one task, because there is no key",
    "broadcast": "broadcast: every worker has a copy of {key}; rows are not shuffled",
    "passthrough": "passthrough: rows are not shuffled",
}


NodeType = TypeVar("NodeType", bound=Operator)


@dataclass(frozen=True, slots=True)
class StateFacts:
    """When rows in state expire, an estimate of the state size, and what is emitted when."""

    expiry: tuple[str, ...]
    state_size: str
    emits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """The facts of an operator in its plan."""

    operator: Operator
    strategy: Strategy
    expiry: tuple[str, ...]
    state_size: str
    emits: tuple[str, ...]


class TimeFix(Enum):
    """What a user can add to a query so that its rows have an event time or are not retracted."""

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


def _no_names(_: Any) -> Mapping[str, str]:
    return {}


def _unchanged(node: Any) -> tuple[Any, Expression]:
    return node, column(None, WINDOW_TIME, "TIMESTAMP")


def _all_selected(_: Any, __: Collection[str]) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class OperatorKind(Generic[NodeType]):
    """Describes one kind of operator.

    A limitation is a sentence without its full stop; an empty one means that the engine can run
    the operator.
    """

    name: str  # in JSON
    state: Callable[[NodeType], StateFacts]
    describe: Callable[[NodeType, OperatorFacts], Description]  # for `explain`
    label: Callable[[NodeType, str], str]  # for the ledger; takes the names of the inputs
    summary: Callable[[NodeType], str]  # for the first lines of `millstream run`
    # the watermark delay of results that carry the event time of input number n
    watermark_delay: Callable[[NodeType, int], int]
    native_limitation: Callable[[NodeType], str]  # why Spark's own operators cannot run it
    columnar_limitation: Callable[[NodeType], str] = _no_reason
    unsupported_part: Callable[[NodeType], UnsupportedPart | None] = _none  # its reason

    # when results are emitted, and their window
    emit: Callable[[NodeType], Emit | None] = _none
    window: Callable[[NodeType], Window | None] = _none
    # Can results carry the time of their window? The node that emits it, and how to read it.
    has_window_time: Callable[[NodeType], bool] = _never
    with_window_time: Callable[[NodeType], tuple[NodeType, Expression]] = _unchanged
    no_event_time: Callable[[NodeType], NoEventTime | None] = _none

    # if results are retracted: does a key identify the row that a change replaces?
    has_change_key: bool = True
    # a part of that key that is not among the selected columns
    unselected_key: Callable[[NodeType, Collection[str]], str | None] = _all_selected
    # do keys expire from state without a retraction?
    expires_without_retraction: Callable[[NodeType], bool] = _never
    # expressions over rows that may be retracted: they must be deterministic
    expressions_over_retractions: Callable[[NodeType], tuple[Expression | None, ...]] = _empty_tuple


@dataclass(frozen=True, kw_only=True)
class SingleInputKind(OperatorKind[NodeType]):
    """A kind of operator with one input."""

    keys: Callable[[NodeType], tuple[Expression, ...]]
    unkeyed: StrategyKind = "single"  # how rows are distributed without a key
    calls: Callable[[NodeType], tuple[Call, ...]] = _empty_tuple
    # the SQL of generated columns other than calls, by name
    generated_columns: Callable[[NodeType], Mapping[str, str]] = _no_names
    # expressions that are compared, besides keys and calls
    compared_expressions: Callable[[NodeType], tuple[Expression, ...]] = _empty_tuple
    # SQL of the groups as a PARTITION BY list; empty if a row does not determine its group
    as_partition: Callable[[NodeType], list[str]] = _empty_list
    buffers_rows: bool = True  # is the state rows, rather than partial results?


@dataclass(frozen=True, slots=True)
class Matching:
    """The predicates of a join besides its key and bound.

    `across` is the part of `across_sql` that the kernel evaluates.
    """

    left_where: Expression | None = None
    right_where: Expression | None = None
    across: PredicateOf[Expression] | None = None
    across_sql: Expression | None = None
    only_spark: bool = False
    ends_version: Expression | None = None  # true for right rows that end their key's version
    version_where: Expression | None = None  # if it is not true, a left row has no version

    @property
    def wheres(self) -> tuple[Expression | None, Expression | None]:
        return self.left_where, self.right_where


@dataclass(frozen=True, slots=True)
class JoinWindows:
    """The windows of both sides of a join, and their allowed lateness."""

    left: Window
    right: Window
    lateness: int

    @property
    def are_equal(self) -> bool:
        return self.left == self.right


@dataclass(frozen=True, slots=True)
class WindowTimes:
    """How far a row's window time and its own time are after the time that the join uses."""

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
    """Describes one kind of join of two streams."""

    type: JoinKind  # the value of 'join.type'
    properties: Callable[[NodeType], OperatorProperties]
    matching: Callable[[NodeType], Matching] = _no_matching
    salt: Callable[[NodeType], int] = _unsalted
    bound: Callable[[NodeType], str | None] = _none  # text of the bound between a pair's times
    # how far the right time of a pair is after the left time
    time_bounds: Callable[[NodeType], TimeBounds] = _no_bounds
    windows: Callable[[NodeType], JoinWindows | None] = _none
    window_times: Callable[[NodeType, int], WindowTimes | None] = _no_window_times
    emits_window: bool = False  # besides the columns of both sides
    # inputs that can be co-located with the join below, and whether its results can be
    shared_inputs: Callable[[NodeType], tuple[int, ...]] = _empty_tuple
    stays_in_group: Callable[[NodeType], bool] = _never


def late_and_limit_limitation(operator: Operator) -> str:
    """Returns why Spark cannot apply the late policy and state limit of an operator."""
    if operator.late.action is LateAction.SIDE_OUTPUT:
        return "Spark drops late rows, so they cannot go to a side output"
    if operator.late.action is LateAction.REASSIGN:
        return "Spark drops late rows, so they cannot get another time"
    if operator.limit.max_rows is not None or operator.limit.max_bytes is not None:
        what = "a join" if isinstance(operator, Join) else "an operator"
        return f"Spark cannot limit the state of {what}"
    return ""
