"""The plan: frozen nodes that SQL and Python share. Expressions are values of
`plan.expressions`; Spark runs them.

    Job ── Pipeline ── Select ──┬── Source
              │                 ├── Select            (a view, a subquery)
              └─ SinkDef        ├── a join ────────┬── Input ── Source | Select
                                │                  └── Input ── Source | Select
                                └── Aggregate | Deduplicate | TopN | RowsOver ── Input ── …

A Select is stateless; what it stands on may keep state, and so may what its Inputs stand on: an
operator reads the results of another through a Select.

A join offers its users two columns, each a struct named as the side's alias, so that `o.total` and
`o.*` mean in Spark what they mean in the query. The other operators offer plain columns, named in
their `columns`, as their Select's input without an alias.

A Job has a Pipeline for each INSERT INTO. Pipelines that read the same CREATE STREAM or write to
the same sink run as one Query (`plan.queries`).

Results that change. Some operators take rows back (`retracts`). Rows of such a stream carry their
kind in the column `_op`: +I new, -U the old and +U the new value of a change, -D gone. A Select
passes it on; a pipeline shows it as its sink's mode asks.
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
)
from millstream.plan.nodes.tables import Broadcast, ReferenceTable
from millstream.plan.nodes.values import (
    FUNCTIONS,
    OP,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    Call,
    Column,
    Engine,
    Key,
    Order,
    Output,
    TableKey,
)

BoundedJoin = IntervalJoin | WindowJoin | CrossJoin
Join = BoundedJoin | TemporalJoin | SessionJoin | RegularJoin
SingleInput = Aggregate | Deduplicate | TopN | RowsOver
Operator = Join | SingleInput  # with state
Node = Source | Select | TableJoin | Operator

__all__ = [
    "FUNCTIONS",
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
    "WindowJoin",
]
