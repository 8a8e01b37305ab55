"""Plans window joins: rows with equal keys in the same window.

A window join is an interval join with the bound [0, 0] on the last microsecond of the window,
end - 1. So a row is late when its window has closed; it is in state until then, and is emitted as
unmatched when the window closes. 'window.lateness' delays the closing.

Tumbling × sliding: a pair is emitted once if any of the sliding windows of one row overlaps the
tumbling window [p, p + T) of the other. With slide d and size s, the windows of a row in the pane
[q, q + d) cover [q + d - s, q + s). Both overlap if

    q + d - s < p + T   and   p < q + s

A row of the pane is late once its last window [q, q + s) has closed, so its join time is q + s - 1.
Its difference to p + T - 1 is from 1 - T to 2s - d - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import classify_conjuncts
from millstream.plan.build.joins.event_times import WINDOW, EventTimes
from millstream.plan.build.joins.interval import (
    columns_of_keys,
    join_output_times,
    read_output_filters,
    reject_missing_key,
    require_right_time,
)
from millstream.plan.build.joins.join_windows import (
    JoinWindows,
    reject_other_bounds,
    require_windows,
    resolve_window_late_policy,
)
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.salt import resolve_salt
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.query_options import resolve_lateness
from millstream.plan.expressions import column
from millstream.plan.kinds.window_pairs import WindowPair, coalesce_sides, is_padded, pair_windows
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    Column,
    Input,
    Join,
    Key,
    Select,
    WindowJoin,
)
from millstream.plan.reject import not_supported
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, ResolvedName, SharedColumn
from millstream.plan.resolve.window_assignment import assign_windows
from millstream.values import JoinType


def plan_window_join(left: LeftInput, windows: JoinWindows, options: JoinOptions) -> PlannedJoin:
    def with_key(given: tuple[Key, ...], **fields: Any) -> WindowJoin:
        reject_missing_key(given, left, options)
        return WindowJoin(**fields)

    return plan_windowed_join(left, windows, options, with_key)


def plan_windowed_join(
    left: LeftInput,
    windows: JoinWindows,
    options: JoinOptions,
    node: Callable[..., Join],
) -> PlannedJoin:
    """Plans a join of rows in the same window.

    `node` builds the join from the keys of the query and the fields of the node."""
    how = options.how
    left.require_event_time(options.place)
    time = require_right_time(options.right, options)
    reject_other_bounds(options)
    lateness = resolve_lateness(options.properties)
    pair = _pair_windows(left, windows, options)
    columns = _WindowColumns(pair, lateness, options)
    side = _window_left(left, columns)
    left = side.left
    right = columns.assign_windows(options.right, 1)
    names = left.scope(right)
    pairs = using_pairs(options.clause, names)
    merged = merged_columns(pairs, how) | _shared(side, right, pair.window_side, columns, how)
    inner = how is JoinType.INNER
    on = ExpressionReader(left.scope(right, merged) if inner else names)
    found = classify_conjuncts(options.terms, on, EventTimes(), left.right_number, inner=inner)
    keys = (*using_keys(pairs, EventTimes()), *found.keys)
    own_start = side.column(WINDOW_START)
    start = Key(own_start.expression, right.refer(WINDOW_START))
    scope = left.scope(None if how.left_only else right, merged)
    where, reads = read_output_filters(found, options, scope)
    join = node(
        keys,
        left=side.input,
        right=Input(right.alias, right.node, columns.time_column(1), 0, (), progress=time),
        how=how,
        keys=(*keys, start) if pair.are_equal else keys,
        bounds=pair.bounds,
        left_where=found.left_where,
        right_where=found.right_where,
        across=found.predicate,
        across_sql=found.across_sql,
        only_spark=found.only_spark,
        unsupported=found.unsupported,
        late=resolve_window_late_policy(options),
        limit=options.limit,
        salt=resolve_salt(options),
        windows=pair.windows,
        lateness=lateness,
        place=options.place,
    )
    return PlannedJoin(
        join=join,
        scope=scope,
        where=where,
        reads=reads,
        times=_times(side, pair, how, time),
        time_order=(WINDOW,),
        keys=keys or (start,),
        key_reads=columns_of_keys(found, pairs) or frozenset((*own_start.reads, (1, WINDOW_START))),
        below=left.join_result,
        added_columns=columns.names,
    )


@dataclass(frozen=True, slots=True)
class _WindowColumns:
    """The columns with the windows of the rows of both sides."""

    pair: WindowPair
    lateness: int
    options: JoinOptions

    def extra_time(self, number: int) -> int:
        """Returns how long after the end of its pane a row of a side is not late."""
        return self.pair.last_window_delay[number] + self.lateness

    def time_column(self, number: int) -> str:
        """Returns the event-time column of a side."""
        return WINDOW_UNTIL if self.extra_time(number) else WINDOW_TIME

    @property
    def names(self) -> tuple[str, ...]:
        own = (self.time_column(number) for number in (0, 1))
        return tuple(dict.fromkeys((WINDOW_START, WINDOW_END, WINDOW_TIME, *own)))

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that have the same meaning on both sides."""
        return self.names if self.pair.last_window_delay == (0, 0) else self.names[:3]

    def assign_windows(self, relation: Relation, number: int) -> Relation:
        """Adds the window columns to a stream; `*` of the join contains them only once."""
        spans = {WINDOW_TIME: -1, self.time_column(number): self.extra_time(number) - 1}
        made = assign_windows(relation, self.pair.panes[number], self.options.place, spans)
        listed = made.columns if relation.star_columns is None else relation.star_columns
        shown = tuple(column for column in listed if column.name not in self.names)
        return replace(made, star_columns=shown)


@dataclass(frozen=True, slots=True)
class _WindowedLeft:
    """The left side with windows; `number` is the event time that assigns them."""

    input: Input
    left: LeftInput
    column: Callable[[str], ResolvedName]
    number: int


def _window_left(left: LeftInput, columns: _WindowColumns) -> _WindowedLeft:
    join_result, until = left.join_result, columns.time_column(0)
    if join_result is None:
        relation = columns.assign_windows(left.relations[0], 0)
        left = replace(left, relations=(relation,), window=columns.pair.panes[0])
        scope = left.scope(None)
        time = left.times.columns[0]
        side = Input(relation.alias, relation.node, until, 0, (), progress=time)
        return _WindowedLeft(side, left, lambda name: scope.refer(0, Column(name, "TIMESTAMP")), 0)
    if left.window is not None:  # the joins below have assigned the windows

        def shared(name: str) -> ResolvedName:
            return join_result.output_reference(join_result.shared(name))

        shared(WINDOW_TIME)  # a query over the result may read it
        time = join_result.use_shared_time(until)
        return _WindowedLeft(Input(left.alias, left.node, time, 0, ()), left, shared, WINDOW)
    number = left.times.in_order[0]
    time = left.use_time(number)

    def wrap(select: Select) -> Select:
        node = columns.assign_windows(Relation(left.alias, left.alias, select), 0).node
        assert isinstance(node, Select)
        return node

    join_result.wrap = wrap
    side = Input(left.alias, left.node, until, 0, (), progress=time)
    return _WindowedLeft(side, left, lambda name: _window_reference(left.alias, name), number)


def _window_reference(alias: str, name: str) -> ResolvedName:
    made = Column(name, "TIMESTAMP")
    return ResolvedName(column(alias, name, made.type), 0, 0, ((0, name),), made, False)


def _pair_windows(left: LeftInput, windows: JoinWindows, options: JoinOptions) -> WindowPair:
    right, place = options.right, windows.place
    if left.join_result is not None and left.window is None and WINDOW in left.times.columns:
        raise not_supported("a window over a join of other windows", place)
    one, other = require_windows(left, windows, options)
    pair = pair_windows(one, other, options.how, (left.name, right.name), place)
    if left.window is not None and pair.panes[0] != left.window:
        # Its rows occur once per window, and a pair must be emitted only once.
        raise not_supported("a tumbling window over a join of sliding ones", place)
    return pair


def _shared(
    side: _WindowedLeft, right: Relation, chief: int, columns: _WindowColumns, how: JoinType
) -> dict[str, SharedColumn]:
    """Returns the shared columns of the window; none if the joins below provide them."""
    if side.number == WINDOW and chief == 0 and not is_padded(how, chief):
        return {}
    merged = {}
    for name in columns.shared:
        one, other = side.column(name), right.refer(name, "TIMESTAMP")
        moment = coalesce_sides((one.expression, other), how, chief)
        reads = ((one.expression, one.reads), (other, ((1, name),)))
        found = tuple(
            read
            for part, each in reads
            if set(part.columns) <= set(moment.columns)
            for read in each
        )
        last = True if name in (WINDOW_START, WINDOW_END) else None
        merged[name] = SharedColumn(moment, found, Column(name, "TIMESTAMP"), (WINDOW, name), last)
    return merged


def _times(side: _WindowedLeft, pair: WindowPair, how: JoinType, time: str) -> EventTimes:
    left = side.left
    times = left.times.within_distance_of(side.number)
    if WINDOW not in times.columns:
        times = times.with_time(WINDOW, WINDOW_TIME, {side.number: -pair.time_bounds(0)})
    times = join_output_times(
        left, how, times.with_time(left.right_number, time, {WINDOW: pair.time_bounds(1)})
    )
    return EventTimes(times.columns, times.non_null | {WINDOW}, times.distances)
