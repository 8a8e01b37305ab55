"""The plan: frozen nodes that SQL and Python share. Expressions are Spark SQL; Spark runs them.

    Job ── Pipeline ── Select ──┬── Source
              │                 ├── Select            (a view, a subquery)
              └─ SinkDef        ├── IntervalJoin ──┬── Input ── Source | Select
                                │                  └── Input ── Source | Select
                                └── Aggregate | Deduplicate | TopN | RowsOver ── Input ── …

A Select is stateless; what it stands on may keep state, and so may what its Inputs stand on: an
operator reads the results of another through a Select.

A join offers its users two columns, each a struct named as the side's alias, so that `o.total` and
`o.*` mean in Spark what they mean in the query. The other operators offer plain columns, named in
their `columns`, as their Select's input without an alias.

Results that change. Some operators take rows back (`retracts`). Rows of such a stream carry their
kind in the column `_op`: +I new, -U the old and +U the new value of a change, -D gone. A Select
passes it on; a pipeline shows it as its sink's mode asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from millstream.errors import Place
from millstream.temporal import (
    Bounds,
    Emit,
    LatePolicy,
    Malformed,
    MissingTime,
    OutputMode,
    StateLimit,
    Watermark,
    Window,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its type is Spark SQL text, or None where only Spark's analysis can tell it."""

    name: str
    type: str | None = None


class JoinType(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_left(self) -> bool:
        """Do left rows come out without a partner?"""
        return self in (JoinType.LEFT, JoinType.FULL, JoinType.ANTI)

    @property
    def keeps_right(self) -> bool:
        return self in (JoinType.RIGHT, JoinType.FULL)

    @property
    def left_only(self) -> bool:
        """Are the output's columns those of the left side alone?"""
        return self in (JoinType.SEMI, JoinType.ANTI)


class Engine(StrEnum):
    AUTO = "auto"
    COLUMNAR = "columnar"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that comes in, by a connector or, with the kind "dataframe", from Python."""

    name: str
    columns: tuple[Column, ...]
    watermark: Watermark | None = None
    connector: str = "dataframe"
    options: tuple[tuple[str, str], ...] = ()
    missing_time: MissingTime = MissingTime.ERROR
    malformed: Malformed = Malformed.DEAD_LETTER
    dead_letter: str | None = None
    idle: int | None = None  # silent for so long, the source no longer holds the watermark back
    place: Place | None = field(default=None, compare=False)

    @property
    def time(self) -> str | None:
        return self.watermark.column if self.watermark else None

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Output:
    """One column of a SELECT: its Spark SQL text and the name it gets."""

    sql: str
    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """Projection and filter, run by Spark. Inside its texts the input goes by `alias`.

    Over a join, `alias` is None: the texts speak of the join's two struct columns.
    """

    input: Node
    outputs: tuple[Output, ...]
    where: str | None = None
    alias: str | None = None
    time: str | None = None  # the output that carries the input's event time, if one does
    window: tuple[str, str] | None = None  # outputs that carry a window's start and end
    place: Place | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(output.name, output.type) for output in self.outputs)


@dataclass(frozen=True, slots=True)
class Input:
    """What an operator reads: a stream under the alias its users call it by."""

    alias: str
    node: Source | Select
    time: str | None  # None: the operator needs no event time, or goes by the wall clock
    delay: int  # of the source; of a stream of results, how far they lag behind their input
    used: tuple[str, ...]  # columns that the operator's users read; others need not be held
    progress: str | None = None  # the column that moves the watermark, if it is not `time`


@dataclass(frozen=True, slots=True)
class Key:
    """An equality of the join: one Spark SQL text a side, over that side's alias."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison across the sides: left text, operator, right text. NULL as in SQL."""

    left: str
    op: Literal["=", "<>", "<", "<=", ">", ">="]
    right: str


@dataclass(frozen=True, slots=True)
class Logic:
    """AND / OR / NOT of comparisons, in SQL's three-valued logic."""

    op: Literal["and", "or", "not"]
    terms: tuple[Predicate, ...]


Predicate = Compare | Logic


@dataclass(frozen=True, slots=True)
class IntervalJoin:
    """`right.time` in [left.time + lower, left.time + upper], keys equal, predicates true."""

    left: Input
    right: Input
    how: JoinType
    keys: tuple[Key, ...]
    bounds: Bounds
    left_where: str | None = None  # predicates of ON over one side alone: they decide matching
    right_where: str | None = None
    across: Predicate | None = None  # predicates of ON over both sides that a kernel can decide
    across_sql: str | None = None  # the same, and what only Spark can decide, as text
    only_spark: bool = False  # does across_sql say more than `across`?
    late: LatePolicy = LatePolicy()
    retention: int | None = None
    limit: StateLimit = StateLimit()
    windows: tuple[Window, Window] | None = None  # of a window join: what `time` is made of
    lateness: int = 0  # of a window join: how long after its end a window takes rows
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


class Direction(StrEnum):
    """Which version of a key a row meets: the latest at or before it, the earliest at or after it,
    or the nearer of both (the one before, if both are as near)."""

    BACKWARD = "backward"
    FORWARD = "forward"
    NEAREST = "nearest"


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Each row of `left` with the version of its key that was in force at its time.

    `right` are versions: rows of a stream, each in force from its own time until the next of its
    key. `deletes`, a text over the right alias, is true of a row that ends its key's version. A row
    comes out once the watermark says that no version can come that it should have met.
    """

    left: Input
    right: Input
    how: JoinType  # INNER or LEFT
    keys: tuple[Key, ...]
    direction: Direction = Direction.BACKWARD
    tolerance: int | None = None  # how far from the row a version may be
    deletes: str | None = None
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate function. Its argument's text speaks of the input's alias.

    `function` is one of FUNCTIONS. With FILTER, the text is NULL where the filter is not true, but
    for functions that see NULLs: those have the filter apart.
    """

    function: str
    argument: str | None  # None: COUNT(*)
    name: str  # of the column it gives: a0, a1, …
    type: str | None = None
    filter: str | None = None
    by: str | None = None  # max_by, min_by: what they go by
    ignore_nulls: bool = True  # first, last
    parameters: tuple[float, ...] = ()  # percentiles; accuracy


FUNCTIONS = (
    *("count", "count_distinct", "sum", "avg", "min", "max"),
    *("stddev_samp", "stddev_pop", "var_samp", "var_pop"),
    *("first", "last", "approx_count_distinct", "approx_percentile", "collect_list"),
    *("collect_set", "bool_and", "bool_or", "max_by", "min_by"),
)
WINDOW_START, WINDOW_END, WINDOW_TIME = "_window_start", "_window_end", "_window_time"
OP = "_op"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """GROUP BY keys and window. Gives keys (k0, k1, …), the window's start, end and time (the last
    microsecond in it, the event time of the result), then a column a call (a0, a1, …)."""

    input: Input
    keys: tuple[Output, ...]
    calls: tuple[Call, ...]
    window: Window | None = None
    given: tuple[str, str] | None = None  # texts of start and end, for a window of kind GIVEN
    emit: Emit = Emit.FINAL
    lateness: int = 0
    late: LatePolicy = LatePolicy()
    ttl: int | None = None  # without a window: how long after its last change a group is kept
    limit: StateLimit = StateLimit()
    over_changes: bool = False  # does the input retract?
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return self.emit is Emit.CHANGES or self.lateness > 0

    @property
    def time(self) -> str | None:
        return WINDOW_TIME if self.window else None

    @property
    def columns(self) -> tuple[Column, ...]:
        window = (WINDOW_START, WINDOW_END, WINDOW_TIME) if self.window else ()
        return (
            *(Column(key.name, key.type) for key in self.keys),
            *(Column(name, "TIMESTAMP") for name in window),
            *(Column(call.name, call.type) for call in self.calls),
        )


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """The first row to arrive of each key passes; of one batch, the earliest. A key is known until
    the watermark is `within` past the row that passed; None: for ever. Gives the columns used."""

    input: Input
    keys: tuple[str, ...]  # texts
    within: int | None
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False

    @property
    def time(self) -> str | None:
        return self.input.time


@dataclass(frozen=True, slots=True)
class Order:
    """One term of ORDER BY."""

    sql: str
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class TopN:
    """The first `n` rows of each partition by `order`. Gives the columns used and their number in
    the order (`rank`), from 1.

    FINAL: once, when the watermark reaches `due`, a text that all rows of a partition agree on (the
    end of their window). CHANGES: as it changes; a partition is kept until `ttl` after its last
    row.
    """

    input: Input
    partition: tuple[str, ...]  # texts
    order: tuple[Order, ...]
    n: int
    rank: str | None = None  # the name of the column with the number, if it is asked for
    due: str | None = None
    emit: Emit = Emit.CHANGES
    ttl: int | None = None
    over_changes: bool = False
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return self.emit is Emit.CHANGES

    @property
    def time(self) -> str | None:
        return self.input.time


@dataclass(frozen=True, slots=True)
class RowsOver:
    """Every row with aggregates over it and the `preceding` rows before it in its partition, in
    the order of event time (None: all of them). A row comes out once the watermark has passed it.
    Gives the columns used, then a column a call."""

    input: Input
    partition: tuple[str, ...]
    preceding: int | None
    calls: tuple[Call, ...]
    ttl: int | None = None  # how long after its last row a partition is kept
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False

    @property
    def time(self) -> str | None:
        return self.input.time


Operator = IntervalJoin | TemporalJoin | Aggregate | Deduplicate | TopN | RowsOver
Node = Source | Select | Operator


@dataclass(frozen=True, slots=True)
class SinkDef:
    """Where rows go: a connector with its options."""

    name: str
    connector: str
    options: tuple[tuple[str, str], ...] = ()
    place: Place | None = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One query and the sink it feeds; one streaming query in Spark."""

    name: str
    root: Select
    sink: SinkDef
    emit: Emit | None = None
    engine: Engine = Engine.AUTO
    mode: OutputMode = OutputMode.APPEND  # anything else shows `_op`


@dataclass(frozen=True, slots=True)
class Job:
    """All pipelines of a file, the sinks that side outputs may name, and the job's settings."""

    pipelines: tuple[Pipeline, ...]
    sinks: tuple[SinkDef, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    def sink(self, name: str) -> SinkDef | None:
        return next((sink for sink in self.sinks if sink.name == name), None)

    def setting(self, name: str, default: str = "") -> str:
        return dict(self.settings).get(name, default)
