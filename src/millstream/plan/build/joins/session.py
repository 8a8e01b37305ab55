"""A join of sessions: rows with equal keys whose sessions share a moment.

Sessions are built a side, of all its rows. So a predicate beside the key filters pairs, and cannot
decide which rows meet.
"""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import filters_of, key_of
from millstream.plan.build.joins.event_times import WINDOW, Times
from millstream.plan.build.joins.interval import refuse_no_key, right_time
from millstream.plan.build.joins.join_windows import Windows
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.salt import refuse_salt
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.joins.window_inputs import (
    late_of_windows,
    refuse_other_bounds,
    windows_of,
)
from millstream.plan.build.policies import lateness_of
from millstream.plan.expressions import column
from millstream.plan.nodes import WINDOW_END, WINDOW_START, WINDOW_TIME, Column, Input, SessionJoin
from millstream.plan.reject import not_yet, place_of
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Merged
from millstream.temporal import Emit, Window, WindowKind
from millstream.values import JoinType


def plan_sessions(left: Left, windows: Windows, asked: JoinAsked) -> PlannedJoin:
    how, right = asked.how, asked.right
    left.ready(asked.place)
    time = right_time(right, asked)
    refuse_other_bounds(asked)
    refuse_salt(asked, "all rows of a session stand together")
    gap = _gap(left, windows, asked)
    number = left.times.in_order[0]
    names = left.scope(right)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how) | _window(asked.emit)
    inner = how is JoinType.INNER
    scope = left.scope(None if how.left_only else right, merged)
    on = Expressions(scope if inner else names)
    keys = using_keys(pairs, Times())
    key_reads = {read for pair in pairs for one in pair for read in one.reads}
    others = []
    for term in asked.terms:
        on.check(term)
        if key := key_of(term, on):
            keys.append(key)
            key_reads |= on.reads(term)
        elif not (isinstance(term, exp.Boolean) and term.this):
            others.append(term)
    refuse_no_key(tuple(keys), left, asked)
    if others and not inner:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"ON of a {how.upper()} JOIN of sessions says more than a key, and whole sessions meet "
            "or do not.",
            fix="Filter rows in a query in FROM: JOIN (SELECT … WHERE …) s ON …",
            place=place_of(others[0], left.text, asked.place),
        )
    filters, above = (others, on) if inner else (asked.filters, Expressions(scope))
    join = SessionJoin(
        left=Input(left.alias, left.node, left.go_by(number), 0, ()),
        right=Input(right.alias, right.node, time, 0, ()),
        how=how,
        keys=tuple(keys),
        gap=gap,
        emit=asked.emit,
        lateness=lateness_of(asked.properties),
        late=late_of_windows(asked),
        limit=asked.limit,
        place=asked.place,
    )
    return PlannedJoin(
        join=join,
        scope=scope,
        where=filters_of(filters, above),
        reads=frozenset(read for term in filters for read in above.reads(term)),
        times=_times(asked.emit),
        order=(WINDOW,),
        keys=tuple(keys),
        key_reads=frozenset(key_reads),
        below=left.lifted,
    )


def _times(emit: Emit) -> Times:
    """A session may be long, so a row's own time says nothing of when it comes out."""
    return Times({WINDOW: WINDOW_TIME}, frozenset((WINDOW,))) if emit is Emit.FINAL else Times()


def _window(emit: Emit) -> dict[str, Merged]:
    """The window of two sessions, which is known once both are closed."""
    merged = {}
    for name in (WINDOW_START, WINDOW_END, WINDOW_TIME):
        last = None if name == WINDOW_TIME else True
        missing = ""
        if emit is Emit.CHANGES:
            last, missing = None, _NOT_KNOWN
        found = Column(name, "TIMESTAMP")
        own = column(None, name, found.type)
        merged[name] = Merged(own, (), found, (WINDOW, name), last, missing)
    return merged


_NOT_KNOWN = "rows come out as sessions meet, before their end is known"


def _gap(left: Left, windows: Windows, asked: JoinAsked) -> int:
    one, other = windows_of(left, windows, asked)
    place, right = windows.place, asked.right
    if left.lifted is not None and WINDOW in left.times.columns:
        raise not_yet(
            "a join of sessions over a join of windows",
            place,
            fix="Put the first join in a query in FROM, and join its rows in sessions of their "
            "own.",
        )
    if one.wall_clock or other.wall_clock:
        raise not_yet("a join of windows of the clock", place)
    if one != other:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{left.name} is in {one}, {right.name} in {other}: no window is in both.",
            fix=_FIX if _both_sessions(one, other) else f"Give both the same window. {_FIX}",
            place=place,
        )
    return one.size


_FIX = "Sessions of both sides have one gap."


def _both_sessions(one: Window, other: Window) -> bool:
    return one.kind is other.kind is WindowKind.SESSION
