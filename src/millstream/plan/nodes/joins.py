"""Joins: of two streams, and of a stream with a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State
from millstream.plan.nodes.streams import Input
from millstream.plan.nodes.tables import ReferenceTable
from millstream.plan.nodes.values import Key, TableKey
from millstream.temporal import Bounds, Emit, LatePolicy, StateLimit, Window
from millstream.values import Condition, Direction, JoinType, PredicateOf

if TYPE_CHECKING:
    from millstream.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class _BoundedJoin:
    """What an interval and a window join share: `right.time` in [left.time + lower, left.time +
    upper], keys equal, predicates true. One kernel runs both."""

    left: State[Input]
    right: State[Input]
    how: State[JoinType]
    keys: State[tuple[Key, ...]]
    bounds: State[Bounds]
    # predicates of ON over one side alone: they decide matching
    left_where: State[Expression | None] = None
    right_where: State[Expression | None] = None
    # predicates of ON over both sides that a kernel can decide
    across: State[PredicateOf[Expression] | None] = None
    across_sql: State[Expression | None] = None  # the same, and what only Spark can decide
    only_spark: State[bool] = False  # does across_sql say more than `across`?
    late: OutputOnly[LatePolicy] = LatePolicy()
    retention: State[Micros | None] = None
    limit: OutputOnly[StateLimit] = StateLimit()
    salt: State[int] = 1  # over so many groups the rows of a key are spread
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class IntervalJoin(_BoundedJoin):
    """The times of a pair are apart by a bound that the query gives."""


@dataclass(frozen=True, slots=True)
class _WindowedJoin(_BoundedJoin):
    """Rows of one window: the bound is between the ends of the windows of a pair's rows."""

    # of each side: `time` is made of them
    windows: State[tuple[Window, Window]] = field(kw_only=True)
    # how long after its end a window accepts rows
    lateness: State[Micros] = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class WindowJoin(_WindowedJoin):
    """Rows of one key and window."""


@dataclass(frozen=True, slots=True)
class CrossJoin(_WindowedJoin):
    """Every row with every row of the same window, whose start is the only key."""


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Each row of `left` with the version of its key that was in force at its time.

    `right` are versions: rows of a stream, each in force from its own time until the next of its
    key. `deletes`, over the right alias, is true of a row that ends its key's version. A row
    comes out once the watermark says that no version can come that it should have met.
    """

    left: State[Input]
    right: State[Input]
    how: State[JoinType]  # INNER or LEFT
    keys: State[tuple[Key, ...]]
    direction: State[Direction] = Direction.BACKWARD
    tolerance: State[Micros | None] = None  # how far from the row a version may be
    deletes: State[Expression | None] = None
    salt: State[int] = 1
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class SessionJoin:
    """Sessions of `left` with sessions of `right` of one key: every row with every row.

    Sessions are built a side, with one gap; two meet when [first, last + gap] of both share a
    moment. They only grow, so two that have met stay together. FINAL: rows come out once both
    sessions are closed. CHANGES: two rows come out as soon as their sessions meet. A session that
    met none comes out once it is closed. Gives the window's columns beside the two sides: from the
    first row of both sessions to the end of both; under CHANGES, as far as they are known.
    """

    left: State[Input]
    right: State[Input]
    how: State[JoinType]
    keys: State[tuple[Key, ...]]
    gap: State[Micros]
    emit: State[Emit] = Emit.FINAL
    lateness: State[Micros] = 0  # a session is closed only so long after its end
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RegularJoin:
    """Keys equal, predicates true, whenever the two rows came: a pair comes out at once.

    A row is held until the watermark is `ttl` past its time; None: for ever. What comes later finds
    it no more, and a pair is taken back only as long as both its rows are held.
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
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return any(self.over_changes) or self.how not in (JoinType.INNER, JoinType.SEMI)


@dataclass(frozen=True, slots=True)
class TableJoin:
    """Each row of `left` with the rows of a table that have its key, as the table is when the row
    is read. It keeps no state: it is a step of the stream, as a SELECT is."""

    left: State[Input]
    table: State[ReferenceTable]
    alias: Neither[str]  # of the table
    how: State[JoinType]  # INNER, LEFT, SEMI or ANTI
    keys: State[tuple[TableKey, ...]]
    used: Neither[tuple[str, ...]]  # columns of the table that are read
    # of ON: a row of which it is not true finds nothing
    left_where: State[Expression | None] = None
    # of ON or WHERE over the table alone: asked of it
    conditions: State[tuple[Condition, ...]] = ()
    # the rest of ON; with LEFT, keys must then be unique
    across_sql: State[Expression | None] = None
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False
