"""Joins: of two streams, and of a stream with a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.plan.nodes.streams import Input
from millstream.plan.nodes.tables import Reference
from millstream.plan.nodes.values import Key, TableKey
from millstream.temporal import Bounds, Emit, LatePolicy, StateLimit, Window
from millstream.values import Condition, Direction, JoinType, PredicateOf

if TYPE_CHECKING:
    from millstream.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class IntervalJoin:
    """`right.time` in [left.time + lower, left.time + upper], keys equal, predicates true."""

    left: Input
    right: Input
    how: JoinType
    keys: tuple[Key, ...]
    bounds: Bounds
    # Predicates of ON over one side alone: they decide matching.
    left_where: Expression | None = None
    right_where: Expression | None = None
    # Predicates of ON over both sides that a kernel can decide.
    across: PredicateOf[Expression] | None = None
    across_sql: Expression | None = None  # the same, and what only Spark can decide
    only_spark: bool = False  # does across_sql say more than `across`?
    late: LatePolicy = LatePolicy()
    retention: int | None = None
    limit: StateLimit = StateLimit()
    windows: tuple[Window, Window] | None = None  # of a window join: what `time` is made of
    lateness: int = 0  # of a window join: how long after its end a window takes rows
    salt: int = 1  # over so many groups the rows of a key are spread
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Each row of `left` with the version of its key that was in force at its time.

    `right` are versions: rows of a stream, each in force from its own time until the next of its
    key. `deletes`, over the right alias, is true of a row that ends its key's version. A row
    comes out once the watermark says that no version can come that it should have met.
    """

    left: Input
    right: Input
    how: JoinType  # INNER or LEFT
    keys: tuple[Key, ...]
    direction: Direction = Direction.BACKWARD
    tolerance: int | None = None  # how far from the row a version may be
    deletes: Expression | None = None
    salt: int = 1
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

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

    left: Input
    right: Input
    how: JoinType
    keys: tuple[Key, ...]
    gap: int
    emit: Emit = Emit.FINAL
    lateness: int = 0  # a session is closed only so long after its end
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RegularJoin:
    """Keys equal, predicates true, whenever the two rows came: a pair comes out at once.

    A row is held until the watermark is `ttl` past its time; None: for ever. What comes later finds
    it no more, and a pair is taken back only as long as both its rows are held.
    """

    left: Input
    right: Input
    how: JoinType
    keys: tuple[Key, ...]
    ttl: int | None
    over_changes: tuple[bool, bool] = (False, False)  # does a side retract?
    left_where: Expression | None = None
    right_where: Expression | None = None
    across: PredicateOf[Expression] | None = None
    across_sql: Expression | None = None
    only_spark: bool = False
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return any(self.over_changes) or self.how not in (JoinType.INNER, JoinType.SEMI)


@dataclass(frozen=True, slots=True)
class TableJoin:
    """Each row of `left` with the rows of a table that have its key, as the table is when the row
    is read. It keeps no state: it is a step of the stream, as a SELECT is."""

    left: Input
    table: Reference
    alias: str  # of the table
    how: JoinType  # INNER, LEFT, SEMI or ANTI
    keys: tuple[TableKey, ...]
    used: tuple[str, ...]  # columns of the table that are read
    left_where: Expression | None = None  # of ON: a row of which it is not true finds nothing
    conditions: tuple[Condition, ...] = ()  # of ON or WHERE over the table alone: asked of it
    across_sql: Expression | None = None  # the rest of ON; with LEFT, keys must then be unique
    place: Place | None = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False
