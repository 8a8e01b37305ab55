"""Joins of two streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.errors import Place
from millstream.plan.nodes.streams import Input
from millstream.plan.nodes.values import Direction, JoinType, Key, Predicate
from millstream.temporal import Bounds, LatePolicy, StateLimit, Window


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
