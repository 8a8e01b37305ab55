"""Specifications of kernels. Columns are given by their names in the frames."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.scalars import Predicate
from millstream.temporal import Emit, LateAction, LatePolicy, StateLimit, Window, WindowKind
from millstream.values import Direction, JoinType

WINDOW_START, WINDOW_END, WINDOW_TIME = "_window_start", "_window_end", "_window_time"
INHERITED_START, INHERITED_END = "_ws", "_we"  # in rows that inherit their window from the input


@dataclass(frozen=True, slots=True)
class CallSpec:
    """An aggregate function: the columns it reads and the column it computes."""

    function: str  # one of FUNCTIONS
    name: str
    argument: str | None = None  # None: COUNT(*)
    filter: str | None = None  # for functions that read NULLs: a boolean column
    by: str | None = None  # max_by, min_by
    ignore_nulls: bool = True
    parameters: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """GROUP BY `keys` and `window`. NULL is an ordinary key.

    The output has the keys, the window columns (if there is a window), one column per call and, if
    it retracts, `_op`.
    """

    keys: tuple[str, ...]
    calls: tuple[CallSpec, ...]
    window: Window | None = None
    emit: Emit = Emit.FINAL
    lateness: int = 0
    late: LatePolicy = LatePolicy()
    ttl: int | None = None
    over_changes: bool = False
    ansi: bool = True  # an overflow is an error, as in Spark; otherwise as in Spark without ANSI
    limit: StateLimit = StateLimit()  # of the operator; a key group may not exceed it either

    @property
    def retracts(self) -> bool:
        return self.emit is Emit.CHANGES or self.lateness > 0

    @property
    def early(self) -> bool:
        """Whether rows are folded before the shuffle. Not if late rows must be emitted
        unchanged."""
        return self.window is None or self.late.action is LateAction.DROP

    @property
    def windowed(self) -> bool:
        return self.window is not None

    @property
    def given(self) -> bool:
        return self.window is not None and self.window.kind is WindowKind.INHERITED


@dataclass(frozen=True, slots=True)
class DeduplicateSpec:
    keys: tuple[str, ...]
    columns: tuple[str, ...]  # of the output
    within: int | None
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()


@dataclass(frozen=True, slots=True)
class OrderSpec:
    column: str
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class TopNSpec:
    """The first `n` rows of each partition.

    Rows that the order does not distinguish are in order of arrival, and those of one batch in
    order of their columns, so that results do not depend on how rows are cut into batches.
    """

    partition: tuple[str, ...]
    order: tuple[OrderSpec, ...]
    columns: tuple[str, ...]  # of the output
    n: int
    rank: str | None = None
    due: str | None = (
        None  # FINAL: a time column; a partition is final once the watermark reaches it
    )
    emit: Emit = Emit.CHANGES
    ttl: int | None = None
    over_changes: bool = False
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()


@dataclass(frozen=True, slots=True)
class OverAggregateSpec:
    partition: tuple[str, ...]
    columns: tuple[str, ...]  # of the output, before those of the calls
    preceding: int | None  # None: all rows before
    calls: tuple[CallSpec, ...] = ()
    ttl: int | None = None
    ansi: bool = True
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()


@dataclass(frozen=True, slots=True)
class TemporalJoinSpec:
    """Input 0 has rows, input 1 has versions. A row with a NULL hash matches no version."""

    how: JoinType  # INNER or LEFT
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_columns: tuple[str, ...]  # of the output
    right_columns: tuple[str, ...]
    direction: Direction = Direction.BACKWARD
    tolerance: int | None = None
    deletes: str | None = None  # a boolean column on the right: the row ends its key's version
    key_is_hash: bool = False  # `_h` is the one integer key itself
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()


@dataclass(frozen=True, slots=True)
class SessionJoinSpec:
    """Input 0 is the left side, input 1 the right. A row with a NULL hash is a session of its own
    and matches none.

    The output has the columns of both sides (SEMI and ANTI: of the left side), and the window's
    start and end in microseconds.
    """

    how: JoinType
    gap: int
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]
    emit: Emit = Emit.FINAL
    lateness: int = 0
    pair_predicate: Predicate | None = None  # only with FINAL
    key_is_hash: bool = False
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()


@dataclass(frozen=True, slots=True)
class RegularJoinSpec:
    """Input 0 is the left side, input 1 the right. Rows of a side that retracts have `_op`.

    The output has the columns of both sides (SEMI and ANTI: of the left side) and, if it retracts,
    `_op`.
    """

    how: JoinType
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]
    ttl: int | None = None
    over_changes: tuple[bool, bool] = (False, False)
    pair_predicate: Predicate | None = None
    key_is_hash: bool = False
    late: LatePolicy = LatePolicy()
    limit: StateLimit = StateLimit()

    @property
    def retracts(self) -> bool:
        return any(self.over_changes) or self.how not in (JoinType.INNER, JoinType.SEMI)
