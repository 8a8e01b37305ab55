"""Plans session joins: rows with equal keys whose session windows overlap.

The sessions of a side contain all its rows with the key. So other predicates than keys decide which
rows of overlapping sessions match, and do not affect which sessions overlap. In an inner join, they
filter the pairs.
"""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import (
    Conjuncts,
    add_pair_predicate,
    read_filters,
    read_predicate,
)
from millstream.plan.build.joins.event_times import WINDOW, EventTimes
from millstream.plan.build.joins.interval import reject_missing_key, require_right_time
from millstream.plan.build.joins.join_windows import (
    JoinWindows,
    reject_other_bounds,
    require_windows,
    resolve_window_late_policy,
)
from millstream.plan.build.joins.keys import read_keys
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.salt import reject_salt
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.query_options import resolve_lateness
from millstream.plan.expressions import column
from millstream.plan.nodes import WINDOW_END, WINDOW_START, WINDOW_TIME, Column, Input, SessionJoin
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import SharedColumn
from millstream.scalars import Operand, ScalarType
from millstream.temporal import Emit, Window, WindowKind
from millstream.values import JoinType


def plan_session_join(left: LeftInput, windows: JoinWindows, options: JoinOptions) -> PlannedJoin:
    how, right = options.how, options.right
    left.require_event_time(options.place)
    time = require_right_time(right, options)
    reject_other_bounds(options)
    reject_salt(options, "all rows of a session are in one group")
    gap = _gap(left, windows, options)
    number = left.times.in_order[0]
    names = left.scope(right)
    pairs = using_pairs(options.clause, names)
    merged = merged_columns(pairs, how) | _window(options.emit)
    inner = how is JoinType.INNER
    scope = left.scope(None if how.left_only else right, merged)
    on = ExpressionReader(scope if inner else names)
    keys = using_keys(pairs, EventTimes())
    key_reads = {read for pair in pairs for one in pair for read in one.reads}
    others = []
    for term in options.terms:
        on.check(term)
        if found := read_keys(term, on):
            keys += found
            key_reads |= on.columns_read(term)
        elif not (isinstance(term, exp.Boolean) and term.this):
            others.append(term)
    reject_missing_key(tuple(keys), left, options)
    matching = Conjuncts()
    if others and not inner:
        _require_final(others[0], left, options)
        for term in others:
            _add_predicate(term, on, matching)
    filters, above = (others, on) if inner else (options.filters, ExpressionReader(scope))
    join = SessionJoin(
        left=Input(left.alias, left.node, left.use_time(number), 0, ()),
        right=Input(right.alias, right.node, time, 0, ()),
        how=how,
        keys=tuple(keys),
        gap=gap,
        emit=options.emit,
        lateness=resolve_lateness(options.properties),
        across=matching.predicate,
        across_sql=matching.across_sql,
        unsupported=matching.unsupported,
        late=resolve_window_late_policy(options),
        limit=options.limit,
        place=options.place,
    )
    return PlannedJoin(
        join=join,
        scope=scope,
        where=read_filters(filters, above),
        reads=frozenset(read for term in filters for read in above.columns_read(term))
        | matching.reads,
        times=_times(options.emit),
        time_order=(WINDOW,),
        keys=tuple(keys),
        key_reads=frozenset(key_reads),
        below=left.join_result,
    )


def _add_predicate(term: exp.Expr, on: ExpressionReader, found: Conjuncts) -> None:
    """Adds a predicate of pairs; Spark computes one over one side for each row of the side."""
    expression, sides = read_predicate(term, on), on.inputs_read(term)
    if len(sides) != 1 or not on.is_deterministic(term):
        add_pair_predicate(term, expression, on, found)
        return
    found.across.append(Operand(expression, next(iter(sides)), ScalarType.BOOLEAN))
    found.across_terms.append(expression)
    found.reads |= on.columns_read(term)


def _require_final(term: exp.Expr, left: LeftInput, options: JoinOptions) -> None:
    if options.emit is Emit.CHANGES:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"ON of the {options.how.upper()} JOIN of sessions has a predicate that is not a key, "
            "and with EMIT CHANGES whole sessions match.",
            fix="Write EMIT FINAL, or filter rows in a subquery: JOIN (SELECT … WHERE …) s ON …",
            place=place_of(term, left.text, options.place),
        )


def _times(emit: Emit) -> EventTimes:
    """Returns the event times of the result: that of the window if it is final, else none."""
    return (
        EventTimes({WINDOW: WINDOW_TIME}, frozenset((WINDOW,)))
        if emit is Emit.FINAL
        else EventTimes()
    )


def _window(emit: Emit) -> dict[str, SharedColumn]:
    """Returns the columns of the joined window, which is known once both sessions are closed."""
    merged = {}
    for name in (WINDOW_START, WINDOW_END, WINDOW_TIME):
        last = None if name == WINDOW_TIME else True
        missing = ""
        if emit is Emit.CHANGES:
            last, missing = None, _NOT_KNOWN
        found = Column(name, "TIMESTAMP")
        own = column(None, name, found.type)
        merged[name] = SharedColumn(own, (), found, (WINDOW, name), last, missing)
    return merged


_NOT_KNOWN = "rows are emitted before the end of their sessions is known"


def _gap(left: LeftInput, windows: JoinWindows, options: JoinOptions) -> int:
    one, other = require_windows(left, windows, options)
    place, right = windows.place, options.right
    if left.join_result is not None and WINDOW in left.times.columns:
        raise not_supported(
            "a join of sessions over a join of windows",
            place,
            fix="Write the first join in a subquery, and join its rows with session windows of "
            "their own.",
        )
    if one.wall_clock or other.wall_clock:
        raise not_supported("a join of processing-time windows", place)
    if one != other:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{left.name} is in {one}, {right.name} in {other}: the windows differ.",
            fix=_FIX if _both_sessions(one, other) else f"Use the same window for both. {_FIX}",
            place=place,
        )
    return one.size


_FIX = "Sessions of both sides need the same gap."


def _both_sessions(one: Window, other: Window) -> bool:
    return one.kind is other.kind is WindowKind.SESSION
