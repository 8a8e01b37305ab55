"""Operators of one stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.plan.nodes.streams import Input
from millstream.plan.nodes.values import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Call,
    Column,
    Order,
    Output,
)
from millstream.temporal import Emit, LatePolicy, StateLimit, Window

if TYPE_CHECKING:
    from millstream.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class Aggregate:
    """GROUP BY keys and window. Gives keys (k0, k1, …), the window's start, end and time (the last
    microsecond in it, the event time of the result), then a column a call (a0, a1, …)."""

    input: Input
    keys: tuple[Output, ...]
    calls: tuple[Call, ...]
    window: Window | None = None
    given: tuple[Expression, Expression] | None = None  # start and end, for a window of kind GIVEN
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
    keys: tuple[Expression, ...]
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
class TopN:
    """The first `n` rows of each partition by `order`. Gives the columns used and their number in
    the order (`rank`), from 1.

    FINAL: once, when the watermark reaches `due`, a time that all rows of a partition agree on (the
    end of their window). CHANGES: as it changes; a partition is kept until `ttl` after its last
    row.
    """

    input: Input
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    n: int
    rank: str | None = None  # the name of the column with the number, if it is asked for
    due: Expression | None = None
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
    partition: tuple[Expression, ...]
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
