"""Plans interval joins: joins with a bound on the distance of the event times."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PlanError
from millstream.plan.build.joins.bound_sources import (
    choose_left_time,
    property_bounds,
    reject_bound_in_where,
    require_closed_bounds,
    within_bounds,
)
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import (
    Conjuncts,
    add_bounds_of_other_times,
    classify_conjuncts,
    read_filters,
)
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.keys import read_keys
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.salt import resolve_salt
from millstream.plan.build.joins.time_bounds import intersect_bounds
from millstream.plan.build.joins.using import (
    Pair,
    merged_columns,
    using_bounds,
    using_keys,
    using_pairs,
)
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Input, IntervalJoin, Key
from millstream.plan.resolve.event_time import BOUNDED_JOIN, reject_retractions, require_event_time
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation, Scope
from millstream.sql.statements import Property
from millstream.temporal import Bounds, format_span, parse_span
from millstream.values import JoinType


def plan_interval_join(
    left: LeftInput, options: JoinOptions, *, allow_unbounded: bool = False
) -> PlannedJoin | None:
    """Plans an interval join. Without a bound, returns None if `allow_unbounded`, else raises."""
    right, place, how = options.right, options.place, options.how
    inner = how is JoinType.INNER
    left.require_event_time(place)
    time = require_right_time(right, options)
    names = left.scope(right)
    pairs = using_pairs(options.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(None if how.left_only else right, merged)
    times = left.times.with_time(left.right_number, time, {})
    on = ExpressionReader(left.scope(right, merged) if inner else names)
    found = classify_conjuncts(options.terms, on, times, left.right_number, inner=inner)
    keys = (*using_keys(pairs, times), *found.keys) or _time_keys(found, pairs, on)
    reject_missing_key(keys, left, options)
    given = intersect_bounds(found.bounds, using_bounds(pairs, times))
    preferred = _preferred_time(left, found, pairs)
    beside = within_bounds(options.clause, names) & property_bounds(options.properties)
    if beside.lower is not None or beside.upper is not None:
        given = intersect_bounds(given, {preferred: beside})
    number = choose_left_time(given, left.times, preferred)
    after = left.times.distance_to_new_time(number, given)
    if allow_unbounded and not after.is_closed:
        return None
    if not inner and not after.is_closed:
        reject_bound_in_where(
            options.filters, ExpressionReader(scope), times, left.right_number, how
        )
    texts = left.time_text(number), right.display_sql(time)
    bounds = require_closed_bounds(
        after, (left.name, right.name), texts, place, options.window_rewrite
    )
    add_bounds_of_other_times(found, number, on)
    own = left.use_time(number)
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
        unsupported=found.unsupported,
        late=options.late,
        retention=resolve_retention(options.properties, bounds),
        limit=options.limit,
        salt=resolve_salt(options),
        place=place,
    )
    near = left.times.within_distance_of(number)
    times = join_output_times(left, how, near.with_time(left.right_number, time, given))
    where, reads = read_output_filters(found, options, scope)
    time_order = (number, left.right_number, *times.in_order)
    of_keys = columns_of_keys(found, pairs)
    return PlannedJoin(
        join, scope, where, reads, times, time_order, keys, of_keys, left.join_result
    )


def _time_keys(
    found: Conjuncts, pairs: list[Pair], expressions: ExpressionReader
) -> tuple[Key, ...]:
    """Returns the equalities of event times, which are the keys of a join without other ones."""
    of_terms = (read_keys(term, expressions) for term, _ in found.bound_terms)
    return (*using_keys(pairs, EventTimes()), *(key for keys in of_terms for key in keys))


def require_right_time(right: Relation, options: JoinOptions) -> str:
    place = right.place or options.place
    reject_retractions(right.node, right.name, BOUNDED_JOIN, place)
    return require_event_time(right.name, right.node, right.time, place)


def reject_missing_key(keys: tuple[object, ...], left: LeftInput, options: JoinOptions) -> None:
    if not keys:
        right = options.right
        one, other = left.relations[0].display_sql("id"), right.display_sql("id")
        raise PlanError(
            "MS-PLAN-NO-KEY",
            f"the join of {left.name} and {right.name} has no key.",
            fix=f"Add an equality of both sides to ON, such as {one} = {other}.",
            place=options.place,
        )


def join_output_times(left: LeftInput, how: JoinType, times: EventTimes) -> EventTimes:
    """Returns the event times of a join's result, and which of them are never NULL."""
    if how.left_only:
        return times.without_time(left.right_number)
    non_null = set(times.non_null)
    if how.preserves_left:  # unmatched rows have no right side
        non_null -= {left.right_number}
    if how.preserves_right:
        non_null -= left.times.non_null
    return times.restrict_non_null(non_null)


def read_output_filters(
    found: Conjuncts, options: JoinOptions, scope: Scope
) -> tuple[tuple[Expression, ...], frozenset[tuple[int, str]]]:
    """Returns the filters of the output, and the columns that they and the pair predicates read."""
    if options.step.inner:
        return tuple(found.output_filters), frozenset(found.reads)
    # WHERE of an outer join filters its result: it is never pushed into the join.
    expressions = ExpressionReader(scope)
    outer = read_filters(options.filters, expressions)
    reads = {read for term in options.filters for read in expressions.columns_read(term)}
    return outer, frozenset(found.reads | reads)


def _preferred_time(left: LeftInput, found: Conjuncts, pairs: list[Pair]) -> int:
    """Returns the left event time that WITHIN refers to: that of the key's stream if it is one
    stream, else the first that is never NULL."""
    origins = found.key_origins | {one.origin[0] for one, _ in pairs if one.origin}
    of_left = origins & left.times.non_null
    return of_left.pop() if len(of_left) == 1 else left.times.in_order[0]


def columns_of_keys(found: Conjuncts, pairs: list[Pair]) -> frozenset[tuple[int, str]]:
    of_pairs = {read for pair in pairs for one in pair for read in one.reads}
    return frozenset(found.key_reads | of_pairs)


def resolve_retention(properties: Mapping[str, Property], bounds: Bounds) -> int | None:
    given = properties.get("join.retention")
    if given is None:
        return None
    retention, needed = parse_span(given.value), max(bounds.upper, -bounds.lower, 0)
    if retention < needed:
        raise PlanError(
            "MS-PLAN-RETENTION",
            f"'join.retention' is {format_span(retention)}, but the bound {bounds} needs a "
            f"retention of {format_span(needed)}.",
            fix=f"Set {format_span(needed)} or more, or remove it.",
            place=given.value_place,
        )
    return retention
