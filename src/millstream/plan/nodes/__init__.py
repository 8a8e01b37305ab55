"""The plan of a job: frozen nodes, created from SQL and from the Python API.

Expressions are values of `plan.expressions`; Spark evaluates them.

    Job ── Pipeline ── Select ──┬── Source
              │                 ├── Select            (a view, a subquery)
              └─ SinkDef        ├── a join ────────┬── Input ── Source | Select
                                │                  └── Input ── Source | Select
                                └── Aggregate | Deduplicate | TopN | RowsOver ── Input ── …

A Select is stateless, and so is a UnionAll of several Selects, which another Select reads. An
operator reads the results of another operator through a Select.

A join has two output columns, each a struct named as the side's alias, so `o.total` and `o.*` mean
in Spark what they mean in the query. The output columns of other operators are listed in `columns`;
the Select above them has no alias.

A Job has a Pipeline for each INSERT INTO. Pipelines that read the same CREATE STREAM or write to
the same sink run as one Query (`plan.build.query_groups`).

Some operators and sources retract rows (`retracts`). The column `_op` of such a stream has the
kind of a row: +I insert, -U and +U the old and new value of an update, -D delete. A Select passes
it on; a pipeline writes it as its sink's output mode requires.
"""

from __future__ import annotations

from millstream.plan.nodes.job import (
    Job,
    Pipeline,
    Query,
    SinkDef,
)
from millstream.plan.nodes.joins import (
    CrossJoin,
    IntervalJoin,
    RegularJoin,
    SessionJoin,
    TableJoin,
    TemporalJoin,
    WindowJoin,
)
from millstream.plan.nodes.operators import (
    Aggregate,
    Deduplicate,
    RowsOver,
    TopN,
)
from millstream.plan.nodes.streams import (
    Input,
    Select,
    Source,
    UnionAll,
)
from millstream.plan.nodes.tables import Broadcast, ReferenceTable
from millstream.plan.nodes.values import (
    OP,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    Call,
    Column,
    Engine,
    JoinKind,
    Key,
    Order,
    Output,
    TableKey,
    UnsupportedPart,
)

BoundedJoin = IntervalJoin | WindowJoin | CrossJoin
Join = BoundedJoin | TemporalJoin | SessionJoin | RegularJoin
SingleInput = Aggregate | Deduplicate | TopN | RowsOver
Operator = Join | SingleInput  # with state
Node = Source | Select | TableJoin | UnionAll | Operator

__all__ = [
    "OP",
    "WINDOW_END",
    "WINDOW_START",
    "WINDOW_TIME",
    "WINDOW_UNTIL",
    "Aggregate",
    "BoundedJoin",
    "Broadcast",
    "Call",
    "Column",
    "CrossJoin",
    "Deduplicate",
    "Engine",
    "Input",
    "IntervalJoin",
    "Job",
    "Join",
    "JoinKind",
    "Key",
    "Node",
    "Operator",
    "Order",
    "Output",
    "Pipeline",
    "Query",
    "ReferenceTable",
    "RegularJoin",
    "RowsOver",
    "Select",
    "SessionJoin",
    "SingleInput",
    "SinkDef",
    "Source",
    "TableJoin",
    "TableKey",
    "TemporalJoin",
    "TopN",
    "UnionAll",
    "UnsupportedPart",
    "WindowJoin",
]
