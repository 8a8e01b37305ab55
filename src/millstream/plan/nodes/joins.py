"""Joins of two streams, and of a stream with a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State, StateIfSet
from millstream.plan.nodes.streams import Input
from millstream.plan.nodes.tables import ReferenceTable
from millstream.plan.nodes.values import Key, TableKey, UnsupportedPart
from millstream.scalars import PredicateOf
from millstream.temporal import Bounds, Emit, LatePolicy, StateLimit, Window
from millstream.values import Condition, Direction, JoinType

if TYPE_CHECKING:
    from millstream.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class _BoundedJoin:
    """Base of interval, window and cross joins; one kernel runs all of them.

    A pair has equal keys, `right.time` in [left.time + lower, left.time + upper], and predicates
    that are true.
    """

    left: State[Input]
    right: State[Input]
    how: State[JoinType]
    keys: State[tuple[Key, ...]]
    bounds: State[Bounds]
    # predicates of ON over one side: a row for which they are not true has no match
    left_where: State[Expression | None] = None
    right_where: State[Expression | None] = None
    # predicates of ON over both sides that a kernel can evaluate
    across: State[PredicateOf[Expression] | None] = None
    across_sql: State[Expression | None] = None  # `across`, and what only Spark can evaluate
    only_spark: State[bool] = False  # does `across_sql` have more terms than `across`?
    unsupported: Neither[UnsupportedPart | None] = field(default=None, compare=False)  # its reason
    late: OutputOnly[LatePolicy] = LatePolicy()
    retention: State[Micros | None] = None
    limit: OutputOnly[StateLimit] = StateLimit()
    salt: State[int] = 1  # the number of key groups that rows of a key are distributed over
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class IntervalJoin(_BoundedJoin):
    """Joins rows whose times differ by a bound of the query."""


@dataclass(frozen=True, slots=True)
class _WindowedJoin(_BoundedJoin):
    """Joins rows of a window. The bound is between the ends of the windows of a pair."""

    # of each side; `time` is computed from them
    windows: State[tuple[Window, Window]] = field(kw_only=True)
    # how long after its end a window accepts rows
    lateness: State[Micros] = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class WindowJoin(_WindowedJoin):
    """Joins rows with the same key and window."""


@dataclass(frozen=True, slots=True)
class CrossJoin(_WindowedJoin):
    """Joins every row with every row of the same window. The window start is the only key."""


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Joins each row of `left` with the version of its key that is valid at its time.

    Rows of `right` are versions, each valid from its own time until the next one of its key.
    `deletes`, over the right alias, is true for a row that ends its key's version. A row is emitted
    once no version can arrive that would match it better.
    """

    left: State[Input]
    right: State[Input]
    how: State[JoinType]  # INNER or LEFT
    keys: State[tuple[Key, ...]]
    direction: State[Direction] = Direction.BACKWARD
    tolerance: State[Micros | None] = None  # how far from the row a version may be
    deletes: State[Expression | None] = None
    # of a LEFT join: if it is not true for a row and its version, the row has no version
    version_where: State[Expression | None] = None
    salt: State[int] = 1
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class SessionJoin:
    """Joins every row of a session of `left` with every row of an overlapping session of `right`.

    Sessions are built per side and key, with the same gap; two sessions overlap if their intervals
    [first, last + gap] do. Sessions only grow, so overlapping ones stay so. FINAL emits pairs once
    both sessions are closed, CHANGES as soon as their sessions overlap. Rows of a session without
    match are emitted once it is closed; if predicates decide which rows match, an unmatched row is
    emitted once all sessions that overlap its own are closed, too. The output also has window
    columns, from the first row of both sessions to the end of both; with CHANGES, as far as they
    are known.
    """

    left: State[Input]
    right: State[Input]
    how: State[JoinType]
    keys: State[tuple[Key, ...]]
    gap: State[Micros]
    emit: State[Emit] = Emit.FINAL
    lateness: State[Micros] = 0  # how long after its end a session is closed
    # predicates of ON that decide which rows of overlapping sessions match; only with FINAL
    across: StateIfSet[PredicateOf[Expression] | None] = None
    across_sql: StateIfSet[Expression | None] = None
    unsupported: Neither[UnsupportedPart | None] = field(default=None, compare=False)
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RegularJoin:
    """Joins rows with equal keys whose predicates are true, without a time bound.

    A pair is emitted immediately. A row expires when the watermark is `ttl` past its time; None:
    never. Rows that arrive later do not match it, and a pair can be retracted only while both its
    rows are in state.
    """

    left: State[Input]
    right: State[Input]
    how: State[JoinType]
    keys: State[tuple[Key, ...]]
    ttl: State[Micros | None]
    over_changes: State[tuple[bool, bool]] = (False, False)  # does a side retract?
    left_where: State[Expression | None] = None
    right_where: State[Expression | None] = None
    across: State[PredicateOf[Expression] | None] = None
    across_sql: State[Expression | None] = None
    only_spark: State[bool] = False
    unsupported: Neither[UnsupportedPart | None] = field(default=None, compare=False)
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return any(self.over_changes) or self.how not in (JoinType.INNER, JoinType.SEMI)


@dataclass(frozen=True, slots=True)
class TableJoin:
    """Joins each row of `left` with the rows of a table that have its key when the row is read.

    It is stateless, like a Select.
    """

    left: State[Input]
    table: State[ReferenceTable]
    alias: Neither[str]  # of the table
    how: State[JoinType]  # INNER, LEFT, SEMI or ANTI
    keys: State[tuple[TableKey, ...]]
    used: Neither[tuple[str, ...]]  # columns of the table that are read
    # of ON: a row for which it is not true has no match
    left_where: State[Expression | None] = None
    # of ON or WHERE over the table only: part of the lookup
    conditions: State[tuple[Condition, ...]] = ()
    # the rest of ON; with LEFT, keys must then be unique
    across_sql: State[Expression | None] = None
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False
