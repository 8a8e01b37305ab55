"""Operators of one stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State
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
    """Aggregates by keys and window.

    Output columns: keys (k0, k1, …), the window's start, end and time (its last microsecond, the
    event time of the result), then one column per call (a0, a1, …).
    """

    input: State[Input]
    keys: State[tuple[Output, ...]]
    calls: State[tuple[Call, ...]]
    window: State[Window | None] = None
    # start and end, for a window of kind INHERITED
    given: State[tuple[Expression, Expression] | None] = None
    emit: State[Emit] = Emit.FINAL
    lateness: State[Micros] = 0
    late: OutputOnly[LatePolicy] = LatePolicy()
    # without a window: how long after its last change a group expires
    ttl: State[Micros | None] = None
    limit: OutputOnly[StateLimit] = StateLimit()
    over_changes: State[bool] = False  # does the input retract?
    place: Neither[Place | None] = field(default=None, compare=False)

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
    """Emits the first row of each key to arrive; of several in one batch, the earliest.

    A key expires when the watermark is `within` past the emitted row; None: never. Output columns:
    those in `used`.
    """

    input: State[Input]
    keys: State[tuple[Expression, ...]]
    within: State[Micros | None]
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False

    @property
    def time(self) -> str | None:
        return self.input.time


@dataclass(frozen=True, slots=True)
class TopN:
    """Emits the first `n` rows of each partition by `order`.

    Output columns: those in `used`, and the row number from 1 (`rank`). FINAL emits when the
    watermark reaches `due`, a time that is the same for all rows of a partition (the end of their
    window). CHANGES emits each change; a partition expires `ttl` after its last row.
    """

    input: State[Input]
    partition: State[tuple[Expression, ...]]
    order: State[tuple[Order, ...]]
    n: State[int]
    rank: State[str | None] = None  # the column with the row number, if the query uses it
    due: State[Expression | None] = None
    emit: State[Emit] = Emit.CHANGES
    ttl: State[Micros | None] = None
    over_changes: State[bool] = False
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return self.emit is Emit.CHANGES

    @property
    def time(self) -> str | None:
        return self.input.time


@dataclass(frozen=True, slots=True)
class RowsOver:
    """Every row with aggregates over it and the `preceding` rows before it in its partition, in
    event-time order (None: all of them).

    A row is emitted once the watermark has passed it. Output columns: those in `used`, then one
    column per call.
    """

    input: State[Input]
    partition: State[tuple[Expression, ...]]
    preceding: State[int | None]
    calls: State[tuple[Call, ...]]
    ttl: State[Micros | None] = None  # how long after its last row a partition expires
    late: OutputOnly[LatePolicy] = LatePolicy()
    limit: OutputOnly[StateLimit] = StateLimit()
    place: Neither[Place | None] = field(default=None, compare=False)

    @property
    def retracts(self) -> bool:
        return False

    @property
    def time(self) -> str | None:
        return self.input.time
