"""A join whose rows are bounded by how far their times may be apart."""

from __future__ import annotations

from millstream.errors import PlanError
from millstream.plan.build.joins.bound_sources import (
    chosen_time,
    closed,
    property_bounds,
    refuse_bound_in_where,
    within,
)
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import Conjuncts, filters_of, go_by, sort_conjuncts
from millstream.plan.build.joins.event_times import Times
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.retention import retention_of
from millstream.plan.build.joins.salt import salt_of
from millstream.plan.build.joins.time_bounds import both
from millstream.plan.build.joins.using import (
    Pair,
    merged_columns,
    using_bounds,
    using_keys,
    using_pairs,
)
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Input, IntervalJoin
from millstream.plan.resolve.event_time import A_BOUNDED_JOIN, needs_time, refuse_changes
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Relation, Scope
from millstream.values import JoinType


def plan_interval(left: Left, asked: JoinAsked, *, or_none: bool = False) -> PlannedJoin | None:
    """`or_none`: without a bound, it is another kind of join; else it is refused."""
    right, place, how = asked.right, asked.place, asked.how
    inner = how is JoinType.INNER
    left.ready(place)
    time = right_time(right, asked)
    names = left.scope(right)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(None if how.left_only else right, merged)
    times = left.times.plus(left.number, time, {})
    on = Expressions(left.scope(right, merged) if inner else names)
    found = sort_conjuncts(asked.terms, on, times, left.number, inner=inner)
    keys = (*using_keys(pairs, times), *found.keys)
    refuse_no_key(keys, left, asked)
    given = both(found.bounds, using_bounds(pairs, times))
    rather = _rather(left, found, pairs)
    beside = within(asked.clause, names) & property_bounds(asked.properties)
    if beside.lower is not None or beside.upper is not None:
        given = both(given, {rather: beside})
    number = chosen_time(given, left.times, rather)
    after = left.times.after(number, given)
    if or_none and not after.closed:
        return None
    if not inner and not after.closed:
        refuse_bound_in_where(asked.filters, Expressions(scope), times, left.number, how)
    texts = left.time_text(number), right.shown(time)
    bounds = closed(after, (left.name, right.name), texts, place, asked.below)
    go_by(found, number, on)
    own = left.go_by(number)
    join = IntervalJoin(
        left=Input(left.alias, left.node, own, 0, ()),
        right=Input(right.alias, right.node, time, 0, ()),
        how=how,
        keys=keys,
        bounds=bounds,
        left_where=found.left_where,
        right_where=found.right_where,
        across=found.predicate,
        across_sql=found.across_sql,
        only_spark=found.only_spark,
        late=asked.late,
        retention=retention_of(asked.properties, bounds),
        limit=asked.limit,
        salt=salt_of(asked),
        place=place,
    )
    near = left.times.near(number)
    times = times_after(left, how, near.plus(left.number, time, given))
    where, reads = filtered(found, asked, scope)
    order = (number, left.number, *times.in_order)
    of_keys = key_reads(found, pairs)
    return PlannedJoin(join, scope, where, reads, times, order, keys, of_keys, left.lifted)


def right_time(right: Relation, asked: JoinAsked) -> str:
    place = right.place or asked.place
    refuse_changes(right.node, right.name, A_BOUNDED_JOIN, place)
    return needs_time(right.name, right.node, right.time, place)


def refuse_no_key(keys: tuple[object, ...], left: Left, asked: JoinAsked) -> None:
    if not keys:
        right = asked.right
        one, other = left.relations[0].shown("id"), right.shown("id")
        raise PlanError(
            "MS-PLAN-NO-KEY",
            f"join of {left.name} and {right.name} has no key.",
            fix=f"Add an equality of both sides to ON, such as {one} = {other}.",
            place=asked.place,
        )


def times_after(left: Left, how: JoinType, times: Times) -> Times:
    """The times of a join's result: which of them no row lacks."""
    if how.left_only:
        return times.without(left.number)
    whole = set(times.whole)
    if how.keeps_left:  # so the right side may be missing
        whole -= {left.number}
    if how.keeps_right:
        whole -= left.times.whole
    return times.only(whole)


def filtered(
    found: Conjuncts, asked: JoinAsked, scope: Scope
) -> tuple[tuple[Expression, ...], frozenset[tuple[int, str]]]:
    """What filters the output, and the columns that it and the predicates across read."""
    if asked.step.inner:
        return tuple(found.after), frozenset(found.reads)
    # The WHERE of an outer join drops rows that the join must keep in view: it is never pushed.
    expressions = Expressions(scope)
    outer = filters_of(asked.filters, expressions)
    reads = {read for term in asked.filters for read in expressions.reads(term)}
    return outer, frozenset(found.reads | reads)


def _rather(left: Left, found: Conjuncts, pairs: list[Pair]) -> int:
    """The left time that WITHIN means: that of the one stream which the key is of, else the first
    that no row lacks."""
    origins = found.key_origins | {one.origin[0] for one, _ in pairs if one.origin}
    of_left = origins & left.times.whole
    return of_left.pop() if len(of_left) == 1 else left.times.in_order[0]


def key_reads(found: Conjuncts, pairs: list[Pair]) -> frozenset[tuple[int, str]]:
    of_pairs = {read for pair in pairs for one in pair for read in one.reads}
    return frozenset(found.key_reads | of_pairs)
