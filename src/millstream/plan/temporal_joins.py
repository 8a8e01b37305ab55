"""A temporal join: each row with the version of its key that was in force at its time."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.chain import PlannedJoin
from millstream.plan.expressions import Expressions
from millstream.plan.gaps import Times
from millstream.plan.interval_joins import refuse_no_key, right_time
from millstream.plan.join_asked import JoinAsked
from millstream.plan.join_left import Left
from millstream.plan.nodes import (
    Direction,
    Input,
    JoinType,
    Key,
    Output,
    Select,
    TemporalJoin,
)
from millstream.plan.predicates import conjuncts_of, filter_texts, sort_conjuncts
from millstream.plan.refuse import not_yet, place_of
from millstream.plan.scope import Relation
from millstream.plan.tables import Table
from millstream.plan.using import merged_columns, using_keys, using_pairs
from millstream.temporal import parse_span


def plan_temporal(left: Left, table: Table | None, asked: JoinAsked) -> PlannedJoin:
    how = asked.how
    if how not in (JoinType.INNER, JoinType.LEFT):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"a temporal join finds a version for each row; a {how.upper()} JOIN asks for more.",
            fix="Write JOIN or LEFT JOIN.",
            place=asked.place,
        )
    if within := asked.clause.this.args.get("within"):
        raise PlanError(
            "MS-PLAN-WITHIN",
            "WITHIN stands in a temporal join, which meets one version however old.",
            fix="Write WITH ('temporal.tolerance' = '5m').",
            place=place_of(within, left.text),
        )
    right = _versions(asked.right, table)
    time = right_time(right, asked)
    left.refuse_without_time(asked.place)
    names = left.scope(right)
    number = _as_of(left, asked)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(right, merged)
    on = Expressions(names)
    terms = list(conjuncts_of(asked.clause.args.get("on")))
    keys, others = _keys(terms, on, left.number)
    keys = [*using_keys(pairs, Times()), *keys]
    if table is not None:
        keys, more = _of_primary_key(keys, others, table, right, left, asked)
        others = more
    refuse_no_key(tuple(keys), left, asked)
    extra = filter_texts(others, on)
    if others and how is JoinType.LEFT:
        raise not_yet(
            "a predicate beside the key in ON of a LEFT temporal join",
            place_of(others[0], left.text),
            fix="Write CASE WHEN … END over the version's columns in SELECT, or filter in WHERE.",
        )
    above = Expressions(scope)
    direction, tolerance = _direction(asked)
    join = TemporalJoin(
        left=Input(left.alias, left.node, left.go_by(number), 0, ()),
        right=Input(right.alias, right.node, time, 0, ()),
        how=how,
        keys=tuple(keys),
        direction=direction,
        tolerance=tolerance,
        deletes=table.deletes(right.alias) if table else None,
        late=asked.late,
        limit=asked.limit,
        place=asked.place,
    )
    where = (*extra, *filter_texts(asked.filters, above))
    reads = {read for term in others for read in on.reads(term)}
    reads |= {read for term in asked.filters for read in above.reads(term)}
    order = (number, *left.times.in_order)
    return PlannedJoin(
        join, scope, where, frozenset(reads), left.times, order, below=left.lifted
    )
