"""A join without a time bound, kept by 'state.ttl': rows meet whenever they come.

It follows rows that are taken back. Its own pairs are taken back with them and, of an outer join,
so is a row without a partner once one comes. Only pairs that stay have an event time: no row of
theirs is older than the ttl allows, so their times lag by it.
"""

from __future__ import annotations

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import sort_conjuncts
from millstream.plan.build.joins.event_times import Times
from millstream.plan.build.joins.interval import filtered, key_reads, refuse_no_key
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.salt import refuse_salt
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.policies import ttl_of
from millstream.plan.join_kinds import JoinKind
from millstream.plan.nodes import Input, RegularJoin
from millstream.plan.nodes.traversal import retracts
from millstream.plan.reject import not_yet
from millstream.plan.resolve.event_time import refuse_forgetting, refuse_late_changes, staying
from millstream.plan.resolve.expressions import Expressions
from millstream.temporal import LateAction, LatePolicy
from millstream.values import JoinType


def is_regular(left: Left, asked: JoinAsked) -> bool:
    """Is it clear, without a look at ON, that no bound says how long rows are kept?"""
    if not may_be_regular(asked) or asked.clause.this.args.get("within"):
        return False
    timeless = not left.times.whole or asked.right.time is None
    return timeless or left.takes_back or retracts(asked.right.node)


def may_be_regular(asked: JoinAsked) -> bool:
    kind = asked.properties.get("join.type")
    other = kind is not None and kind.value.lower() != JoinKind.REGULAR
    return "state.ttl" in asked.properties and not other


def plan_regular(left: Left, asked: JoinAsked) -> PlannedJoin:
    _refuse_bounds(asked)
    refuse_salt(asked, "its rows are counted where they meet")
    right, how, place = asked.right, asked.how, asked.place
    inner = how is JoinType.INNER
    names = left.scope(right)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(None if how.left_only else right, merged)
    on = Expressions(left.scope(right, merged) if inner else names)
    found = sort_conjuncts(asked.terms, on, Times(), left.number, inner=inner)
    keys = (*using_keys(pairs, Times()), *found.keys)
    refuse_no_key(keys, left, asked)
    ttl = _ttl(left, asked)
    number = left.times.in_order[0] if ttl is not None else None
    changes = left.takes_back, retracts(right.node)
    if left.lifted is None:
        first = left.relations[0]
        refuse_forgetting(first.node, first.name, first.place or place)
    refuse_forgetting(right.node, right.name, right.place or place)
    own = None if number is None else left.go_by(number)
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
        late=_late(left, asked, ttl),
        limit=asked.limit,
        place=place,
    )
    where, reads = filtered(found, asked, scope)
    times, order = Times(), tuple[int, ...]()
    if number is not None and not join.retracts:
        times = _times(left, number, asked)
        order = (number, left.number, *times.in_order)
    of_keys = key_reads(found, pairs)
    return PlannedJoin(join, scope, where, reads, times, order, keys, of_keys, left.lifted)


def _refuse_bounds(asked: JoinAsked) -> None:
    for name, item in asked.properties.items():
        if name.endswith("_bound") or name == "join.retention":
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' has no use in a join without a bound of both ends: 'state.ttl' says how "
                "long rows are kept.",
                fix="Leave it out, or give both bounds and no 'state.ttl'.",
                place=item.place,
            )


def _ttl(left: Left, asked: JoinAsked) -> int | None:
    right, given = asked.right, asked.properties["state.ttl"]
    if given.value.lower() == "forever":
        return None
    if left.times.whole:
        return ttl_of(asked.properties, "", right.time, right.name, asked.place, right.node)
    if left.lifted is None:
        first = left.relations[0]
        return ttl_of(asked.properties, "", None, first.name, asked.place, first.node)  # refuses
    cause, fix = left.timeless()
    raise PlanError(
        "MS-PLAN-NO-WATERMARK",
        f"'state.ttl' goes by the watermark, and {cause}.",
        fix=f"{fix}, or write 'state.ttl' = 'forever'.",
        place=given.place,
    )


def _late(left: Left, asked: JoinAsked, ttl: int | None) -> LatePolicy:
    if ttl is None:
        return LatePolicy()
    late = asked.late
    if late.action is LateAction.DROP:
        return late
    if late.action is LateAction.REASSIGN:
        raise not_yet(
            "'late.policy' = 'reassign' of a join without a time bound",
            asked.properties["late.policy"].place,
            fix="A row is late once it is older than 'state.ttl': give more, or use side_output.",
        )
    if left.takes_back or retracts(asked.right.node):
        of, way_out = asked.right.name, staying(asked.right.node, asked.right.name)
        if left.takes_back:
            of, way_out = left.name, left.staying()
        refuse_late_changes(late, asked.properties, of, way_out)
    return late


def _times(left: Left, number: int, asked: JoinAsked) -> Times:
    """The times of pairs that stay: those of the left side that keep to the one the join goes by,
    and that of the right side, which may be any time away from them."""
    kept = left.times.near(number)
    if asked.how.left_only or asked.right.time is None:
        return kept
    return kept.plus(left.number, asked.right.time, {})
