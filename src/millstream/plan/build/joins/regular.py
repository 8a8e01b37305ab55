"""Plans regular joins: joins without a time bound, whose retention is 'state.ttl'.

A regular join supports retraction. It retracts the pairs of a retracted row and, in an outer join,
an unmatched row once a match arrives. Only a result without retractions has an event time: no row
of a pair is older than the TTL, so its event times lag by at most the TTL.
"""

from __future__ import annotations

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import classify_conjuncts
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.interval import (
    columns_of_keys,
    read_output_filters,
    reject_missing_key,
)
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.salt import reject_salt
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.query_options import resolve_state_ttl
from millstream.plan.nodes import Input, JoinKind, RegularJoin
from millstream.plan.nodes.traversal import can_retract
from millstream.plan.reject import not_supported
from millstream.plan.resolve.event_time import (
    reject_expiring_groups,
    reject_late_retractions,
    retraction_fix,
)
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.temporal import LateAction, LatePolicy
from millstream.values import JoinType


def must_be_regular(left: LeftInput, options: JoinOptions) -> bool:
    """Tests whether a join must be regular: inputs retract rows or have no event time."""
    if not can_be_regular(options) or options.clause.this.args.get("within"):
        return False
    timeless = not left.times.non_null or options.right.time is None
    return timeless or left.retracts or can_retract(options.right.node)


def can_be_regular(options: JoinOptions) -> bool:
    kind = options.properties.get("join.type")
    other = kind is not None and kind.value.lower() != JoinKind.REGULAR
    return "state.ttl" in options.properties and not other


def plan_regular_join(left: LeftInput, options: JoinOptions) -> PlannedJoin:
    _reject_bounds(options)
    reject_salt(options, "a regular join counts the matches of each row")
    right, how, place = options.right, options.how, options.place
    inner = how is JoinType.INNER
    names = left.scope(right)
    pairs = using_pairs(options.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(None if how.left_only else right, merged)
    on = ExpressionReader(left.scope(right, merged) if inner else names)
    found = classify_conjuncts(options.terms, on, EventTimes(), left.right_number, inner=inner)
    keys = (*using_keys(pairs, EventTimes()), *found.keys)
    reject_missing_key(keys, left, options)
    ttl = _ttl(left, options)
    number = left.times.in_order[0] if ttl is not None else None
    changes = left.retracts, can_retract(right.node)
    if left.join_result is None:
        first = left.relations[0]
        reject_expiring_groups(first.node, first.name, first.place or place)
    reject_expiring_groups(right.node, right.name, right.place or place)
    own = None if number is None else left.use_time(number)
    join = RegularJoin(
        left=Input(left.alias, left.node, own, 0, ()),
        right=Input(right.alias, right.node, right.time if ttl is not None else None, 0, ()),
        how=how,
        keys=keys,
        ttl=ttl,
        over_changes=changes,
        left_where=found.left_where,
        right_where=found.right_where,
        across=found.predicate,
        across_sql=found.across_sql,
        only_spark=found.only_spark,
        unsupported=found.unsupported,
        late=_late(left, options, ttl),
        limit=options.limit,
        place=place,
    )
    where, reads = read_output_filters(found, options, scope)
    times, time_order = EventTimes(), tuple[int, ...]()
    if number is not None and not join.retracts:
        times = _times(left, number, options)
        time_order = (number, left.right_number, *times.in_order)
    of_keys = columns_of_keys(found, pairs)
    return PlannedJoin(
        join, scope, where, reads, times, time_order, keys, of_keys, left.join_result
    )


def _reject_bounds(options: JoinOptions) -> None:
    for name, item in options.properties.items():
        if name.endswith("_bound") or name == "join.retention":
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' does not apply to a join that is not bounded on both ends: 'state.ttl' "
                "is "
                "its retention.",
                fix="Remove it, or set both bounds and no 'state.ttl'.",
                place=item.place,
            )


def _ttl(left: LeftInput, options: JoinOptions) -> int | None:
    right, given = options.right, options.properties["state.ttl"]
    if given.value.lower() == "forever":
        return None
    if left.times.non_null:
        return resolve_state_ttl(
            options.properties, "", right.time, right.name, options.place, right.node
        )
    if left.join_result is None:
        first = left.relations[0]
        return resolve_state_ttl(
            options.properties, "", None, first.name, options.place, first.node
        )  # raises
    cause, fix = left.explain_missing_time()
    raise PlanError(
        "MS-PLAN-NO-WATERMARK",
        f"'state.ttl' depends on the watermark, and {cause}.",
        fix=f"{fix}, or write 'state.ttl' = 'forever'.",
        place=given.place,
    )


def _late(left: LeftInput, options: JoinOptions, ttl: int | None) -> LatePolicy:
    if ttl is None:
        return LatePolicy()
    late = options.late
    if late.action is LateAction.DROP:
        return late
    if late.action is LateAction.REASSIGN:
        raise not_supported(
            "'late.policy' = 'reassign' of a join without a time bound",
            options.properties["late.policy"].place,
            fix="A row is late once it is older than 'state.ttl': increase it, or use side_output.",
        )
    if left.retracts or can_retract(options.right.node):
        of, way_out = options.right.name, retraction_fix(options.right.node, options.right.name)
        if left.retracts:
            of, way_out = left.name, left.append_only_fix()
        reject_late_retractions(late, options.properties, of, way_out)
    return late


def _times(left: LeftInput, number: int, options: JoinOptions) -> EventTimes:
    """Returns the event times of a result without retractions: those of the left side with a closed
    distance to the join's event time, and that of the right side."""
    times = left.times.within_distance_of(number)
    if options.how.left_only or options.right.time is None:
        return times
    return times.with_time(left.right_number, options.right.time, {})
