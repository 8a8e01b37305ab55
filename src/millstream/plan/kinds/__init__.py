"""One record per kind of operator, by the class of its node.

Planning, engine choice, `explain`, `millstream run` and the ledger read these records. A new kind
is a module here and an entry in JOINS or SINGLE_INPUT. `engine.compile` registers its compiler.
"""

from __future__ import annotations

from typing import Any

from millstream.plan.kinds import (
    aggregate,
    cross_join,
    deduplicate,
    interval_join,
    regular_join,
    session_join,
    temporal_join,
    top_n,
    window_join,
)
from millstream.plan.kinds import over_aggregate as rows_over
from millstream.plan.kinds.base import OperatorKind, SingleInputKind, StreamJoinKind
from millstream.plan.nodes import (
    Aggregate,
    CrossJoin,
    Deduplicate,
    IntervalJoin,
    Join,
    Operator,
    RegularJoin,
    RowsOver,
    SessionJoin,
    SingleInput,
    TemporalJoin,
    TopN,
    WindowJoin,
)

JOINS: dict[type, StreamJoinKind[Any]] = {
    IntervalJoin: interval_join.KIND,
    WindowJoin: window_join.KIND,
    CrossJoin: cross_join.KIND,
    TemporalJoin: temporal_join.KIND,
    SessionJoin: session_join.KIND,
    RegularJoin: regular_join.KIND,
}
SINGLE_INPUT: dict[type, SingleInputKind[Any]] = {
    Aggregate: aggregate.KIND,
    Deduplicate: deduplicate.KIND,
    TopN: top_n.KIND,
    RowsOver: rows_over.KIND,
}
KINDS: dict[type, OperatorKind[Any]] = {**JOINS, **SINGLE_INPUT}


def kind_of(operator: Operator) -> OperatorKind[Any]:
    return KINDS[_registered_class(type(operator))]


def join_kind_of(join: Join) -> StreamJoinKind[Any]:
    return JOINS[_registered_class(type(join))]


def single_input_kind_of(operator: SingleInput) -> SingleInputKind[Any]:
    return SINGLE_INPUT[_registered_class(type(operator))]


def _registered_class(node: type) -> type:
    """Returns the registered class: the class itself, or the one that a planning class extends."""
    return next(each for each in node.__mro__ if each in KINDS)
