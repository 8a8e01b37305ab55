"""A window join: rows with equal keys that are in one window.

It is an interval join by the last microsecond of the window, end - 1, at which rows of one
window stand together: the bound is [0, 0]. So a row is late when its window has closed, it is held
until then, and comes out without a partner when it closes. 'window.lateness' moves that moment.

Tumbling × sliding: a pair comes out once if any of the sliding windows of the one row overlaps the
tumbling window [p, p + T) of the other. The windows of a row in the pane [q, q + d), d being the
slide and s the size, cover [q + d - s, q + s). Both overlap if

    q + d - s < p + T   and   p < q + s

A row of the pane is late once its last window [q, q + s) has closed. So it stands at q + s - 1, and
from p + T - 1 that is a difference from 1 - T to 2s - d - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import sort_conjuncts
from millstream.plan.build.joins.event_times import WINDOW, Times
from millstream.plan.build.joins.interval import (
    filtered,
    key_reads,
    refuse_no_key,
    right_time,
    times_after,
)
from millstream.plan.build.joins.join_windows import Windows
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.salt import salt_of
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.joins.window_inputs import (
    late_of_windows,
    refuse_other_bounds,
    windows_of,
)
from millstream.plan.build.policies import lateness_of
from millstream.plan.expressions import column
from millstream.plan.kinds.window_pairs import WindowPair, is_padded, of_either, pair_of
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
from millstream.plan.reject import not_yet
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Merged, Reference, Relation
from millstream.plan.resolve.window_assignment import assigned
from millstream.values import JoinType


def plan_window(left: Left, windows: Windows, asked: JoinAsked) -> PlannedJoin:
    def with_key(given: tuple[Key, ...], **fields: Any) -> WindowJoin:
        refuse_no_key(given, left, asked)
        return WindowJoin(**fields)

    return plan_in_windows(left, windows, asked, with_key)


def plan_in_windows(
    left: Left,
    windows: Windows,
    asked: JoinAsked,
    node: Callable[..., Join],
) -> PlannedJoin:
    """A join of rows in one window; `node` makes it of the keys that the query gives and of its
    fields."""
    how = asked.how
    left.ready(asked.place)
    time = right_time(asked.right, asked)
    refuse_other_bounds(asked)
    lateness = lateness_of(asked.properties)
    pair = _paired(left, windows, asked)
    moments = _Moments(pair, lateness, asked)
    side = _left_side(left, moments)
    left = side.left
    right = moments.given_to(asked.right, 1)
    names = left.scope(right)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how) | _shared(side, right, pair.chief, moments, how)
    inner = how is JoinType.INNER
    on = Expressions(left.scope(right, merged) if inner else names)
    found = sort_conjuncts(asked.terms, on, Times(), left.number, inner=inner)
    keys = (*using_keys(pairs, Times()), *found.keys)
    own_start = side.column(WINDOW_START)
    start = Key(own_start.expression, right.refer(WINDOW_START))
    scope = left.scope(None if how.left_only else right, merged)
    where, reads = filtered(found, asked, scope)
    join = node(
        keys,
        left=side.input,
        right=Input(right.alias, right.node, moments.until(1), 0, (), progress=time),
        how=how,
        keys=(*keys, start) if pair.same else keys,
        bounds=pair.bounds,
        left_where=found.left_where,
        right_where=found.right_where,
        across=found.predicate,
        across_sql=found.across_sql,
        only_spark=found.only_spark,
        late=late_of_windows(asked),
        limit=asked.limit,
        salt=salt_of(asked),
        windows=pair.windows,
        lateness=lateness,
        place=asked.place,
    )
    return PlannedJoin(
        join=join,
        scope=scope,
        where=where,
        reads=reads,
        times=_times(side, pair, how, time),
        order=(WINDOW,),
        keys=keys or (start,),
        key_reads=key_reads(found, pairs) or frozenset((*own_start.reads, (1, WINDOW_START))),
        below=left.lifted,
        made=moments.names,
    )


@dataclass(frozen=True, slots=True)
class _Moments:
    """The columns that say when a window ends for the rows of a side."""

    pair: WindowPair
    lateness: int
    asked: JoinAsked

    def after(self, number: int) -> int:
        """How long after its pane a row of a side is in time."""
        return self.pair.later[number] + self.lateness

    def until(self, number: int) -> str:
        """The column that the join goes by."""
        return WINDOW_UNTIL if self.after(number) else WINDOW_TIME

    @property
    def names(self) -> tuple[str, ...]:
        own = (self.until(number) for number in (0, 1))
        return tuple(dict.fromkeys((WINDOW_START, WINDOW_END, WINDOW_TIME, *own)))

    @property
    def shared(self) -> tuple[str, ...]:
        """Those that both sides have, of one meaning."""
        return self.names if self.pair.later == (0, 0) else self.names[:3]

    def given_to(self, relation: Relation, number: int) -> Relation:
        """The stream with its windows. `*` has them once, not once a side."""
        spans = {WINDOW_TIME: -1, self.until(number): self.after(number) - 1}
        made = assigned(relation, self.pair.panes[number], self.asked.place, spans)
        listed = made.columns if relation.listed is None else relation.listed
        shown = tuple(column for column in listed if column.name not in self.names)
        return replace(made, listed=shown)


@dataclass(frozen=True, slots=True)
class _Side:
    """The left side in windows; `number` is that of the time by which rows got theirs."""

    input: Input
    left: Left
    column: Callable[[str], Reference]
    number: int


def _left_side(left: Left, moments: _Moments) -> _Side:
    lifted, until = left.lifted, moments.until(0)
    if lifted is None:
        relation = moments.given_to(left.relations[0], 0)
        left = replace(left, relations=(relation,), window=moments.pair.panes[0])
        scope = left.scope(None)
        time = left.times.columns[0]
        side = Input(relation.alias, relation.node, until, 0, (), progress=time)
        return _Side(side, left, lambda name: scope.refer(0, Column(name, "TIMESTAMP")), 0)
    if left.window is not None:  # the joins below have given windows already

        def shared(name: str) -> Reference:
            return lifted.lifted(lifted.shared(name))

        shared(WINDOW_TIME)  # whoever reads the result may ask for it
        time = lifted.go_by_shared(until)
        return _Side(Input(left.alias, left.node, time, 0, ()), left, shared, WINDOW)
    number = left.times.in_order[0]
    time = left.go_by(number)

    def wrap(select: Select) -> Select:
        node = moments.given_to(Relation(left.alias, left.alias, select), 0).node
        assert isinstance(node, Select)
        return node

    lifted.wrap = wrap
    side = Input(left.alias, left.node, until, 0, (), progress=time)
    return _Side(side, left, lambda name: _made(left.alias, name), number)


def _made(alias: str, name: str) -> Reference:
    made = Column(name, "TIMESTAMP")
    return Reference(column(alias, name, made.type), 0, 0, ((0, name),), made, False)


def _paired(left: Left, windows: Windows, asked: JoinAsked) -> WindowPair:
    right, place = asked.right, windows.place
    if left.lifted is not None and left.window is None and WINDOW in left.times.columns:
        raise not_yet("a window over a join of other windows", place)
    one, other = windows_of(left, windows, asked)
    pair = pair_of(one, other, asked.how, (left.name, right.name), place)
    if left.window is not None and pair.panes[0] != left.window:
        # Its rows are there once for each of their windows, and a pair is to come out once.
        raise not_yet("a tumbling window over a join of sliding ones", place)
    return pair


def _shared(
    side: _Side, right: Relation, chief: int, moments: _Moments, how: JoinType
) -> dict[str, Merged]:
    """The columns of the window, which both sides share. Those of the left side alone are found
    there, if the joins below have given them."""
    if side.number == WINDOW and chief == 0 and not is_padded(how, chief):
        return {}
    merged = {}
    for name in moments.shared:
        one, other = side.column(name), right.refer(name, "TIMESTAMP")
        moment = of_either((one.expression, other), how, chief)
        reads = ((one.expression, one.reads), (other, ((1, name),)))
        found = tuple(
            read
            for part, each in reads
            if set(part.columns) <= set(moment.columns)
            for read in each
        )
        last = True if name in (WINDOW_START, WINDOW_END) else None
        merged[name] = Merged(moment, found, Column(name, "TIMESTAMP"), (WINDOW, name), last)
    return merged


def _times(side: _Side, pair: WindowPair, how: JoinType, time: str) -> Times:
    left = side.left
    times = left.times.near(side.number)
    if WINDOW not in times.columns:
        times = times.plus(WINDOW, WINDOW_TIME, {side.number: -pair.apart(0)})
    times = times_after(left, how, times.plus(left.number, time, {WINDOW: pair.apart(1)}))
    return Times(times.columns, times.whole | {WINDOW}, times.apart)
