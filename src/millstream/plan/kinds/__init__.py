"""One record per kind of operator, by the class of its node.

Planning, engine choice, `explain` (text and JSON), `millstream run` and the ledger read it. A new
kind is a module here and a line in KINDS; its compiler is registered in `spark.compilers`.
"""

from __future__ import annotations

from typing import Any

from millstream.plan.kinds import (
    aggregate,
    deduplicate,
    interval_join,
    regular_join,
    rows_over,
    session_join,
    temporal_join,
    top_n,
    window_join,
)
from millstream.plan.kinds.base import OperatorKind
from millstream.plan.nodes import (
    Aggregate,
    Deduplicate,
    IntervalJoin,
    Operator,
    RegularJoin,
    RowsOver,
    SessionJoin,
    TemporalJoin,
    TopN,
    WindowJoin,
)

KINDS: dict[type[Operator], OperatorKind[Any]] = {
    IntervalJoin: interval_join.KIND,
    WindowJoin: window_join.KIND,
    TemporalJoin: temporal_join.KIND,
    SessionJoin: session_join.KIND,
    RegularJoin: regular_join.KIND,
    Aggregate: aggregate.KIND,
    Deduplicate: deduplicate.KIND,
    TopN: top_n.KIND,
    RowsOver: rows_over.KIND,
}


def kind_of(operator: Operator) -> OperatorKind[Any]:
    return KINDS[type(operator)]
