"""A join of two streams in a query becomes an IntervalJoin, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expressions
from millstream.plan.holds import lag_of
from millstream.plan.join_bounds import closed, property_bounds, refuse_bound_in_where, within
from millstream.plan.join_properties import retention_of
from millstream.plan.nodes import Input, IntervalJoin, JoinType
from millstream.plan.policies import late_policy, limit_of
from millstream.plan.predicates import Conjuncts, conjuncts_of, filter_texts, sort_conjuncts
from millstream.plan.refuse import not_yet, place_of
from millstream.plan.scope import Relation, Scope
from millstream.plan.system import with_hidden
from millstream.plan.times import needs_time, refuse_changes
from millstream.plan.using import merged_columns, using_bounds, using_keys
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import LateAction


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A join, the scope its users see, and what is left of WHERE to filter its output with."""

    join: IntervalJoin
    scope: Scope
    where: tuple[str, ...]
    reads: frozenset[tuple[int, str]]

    def used_by(self, reads: Collection[tuple[int, str]]) -> IntervalJoin:
        """The join, its inputs knowing which of their columns are read by it and its users."""
        every = self.join.late.action is LateAction.SIDE_OUTPUT
        sides = []
        for number, side in enumerate((self.join.left, self.join.right)):
            used = {name for index, name in {*reads, *self.reads} if index == number}
            node = with_hidden(side.node, {*used, side.time})
            names = tuple(c.name for c in node.columns if every or c.name in used)
            sides.append(replace(side, node=node, used=names, delay=lag_of(node)))
        return replace(self.join, left=sides[0], right=sides[1])


def plan_join(
    query: exp.Select,
    relations: tuple[Relation, Relation],
    properties: Mapping[str, Property],
    text: SourceText,
    sinks: Collection[str],
) -> PlannedJoin:
    """Plan the query's one join. `sinks` are the names that 'late.sink' may say."""
    left, right = relations
    (clause,) = query.args["joins"]
    place = place_of(clause, text, left.place)
    how = _join_type(clause, place)
    for side in relations:
        refuse_changes(side.node, side.name, "a join", side.place or place)
    times = _event_time(left, place), _event_time(right, place)
    both = Scope(relations, text)
    merged = merged_columns(clause, both, how)
    scope = Scope(relations[:1] if how.left_only else relations, text, merged)
    where = query.args.get("where")
    filters = list(conjuncts_of(where.this)) if where else []
    terms = list(conjuncts_of(clause.args.get("on")))
    inner = how is JoinType.INNER
    found = sort_conjuncts(
        terms + (filters if inner else []),
        Expressions(Scope(relations, text, merged) if inner else both),
        times,
        inner=inner,
    )
    keys = tuple(using_keys(clause, both)) + tuple(found.keys)
    if not keys:
        raise PlanError(
            "MS-PLAN-NO-KEY",
            f"join of {left.name} and {right.name} has no key.",
            fix=f"Add an equality of both sides to ON, such as {left.alias}.id = {right.alias}.id.",
            place=place,
        )
    given = (
        found.bounds
        & using_bounds(clause, both)
        & within(query, clause, both)
        & property_bounds(properties)
    )
    if not inner:
        refuse_bound_in_where(filters, given, Expressions(scope), times, how)
    bounds = closed(given, left, right, times, place)
    join = IntervalJoin(
        left=Input(left.alias, left.node, times[0], 0, ()),
        right=Input(right.alias, right.node, times[1], 0, ()),
        how=how,
        keys=keys,
        bounds=bounds,
        left_where=found.left_where,
        right_where=found.right_where,
        across=found.predicate,
        across_sql=" AND ".join(found.across_texts) or None,
        only_spark=found.only_spark,
        late=late_policy(properties, sinks),
        retention=retention_of(properties, bounds),
        limit=limit_of(properties),
        place=place,
    )
    return PlannedJoin(join, scope, *_filter(found, filters, Expressions(scope), inner))


def _filter(
    found: Conjuncts, filters: list[exp.Expr], expressions: Expressions, inner: bool
) -> tuple[tuple[str, ...], frozenset[tuple[int, str]]]:
    """What filters the output, and the columns that it and the predicates across read."""
    if inner:
        return tuple(found.after), frozenset(found.reads)
    # The WHERE of an outer join drops rows that the join must keep in view: it is never pushed.
    outer = filter_texts(filters, expressions)
    reads = {read for term in filters for read in expressions.reads(term)}
    return outer, frozenset(found.reads | reads)


def _join_type(clause: exp.Join, place: Place | None) -> JoinType:
    method, side, kind = (clause.args.get(key) or "" for key in ("method", "side", "kind"))
    if method == "NATURAL":
        raise PlanError(
            "MS-PLAN-NATURAL-JOIN",
            "a NATURAL join changes its meaning when a column is added.",
            fix="Write USING (column, …) or ON.",
            place=place,
        )
    if kind == "CROSS" and not clause.meta.get("comma"):
        raise PlanError(
            "MS-PLAN-CROSS-JOIN",
            "a CROSS join of streams has no key.",
            fix="Write JOIN … ON with an equality of both sides.",
            place=place,
        )
    if method or (side == "RIGHT" and kind in ("SEMI", "ANTI")):
        raise not_yet(f"{method or side} {kind} JOIN".replace("  ", " "), place)
    if kind in ("SEMI", "ANTI"):
        return JoinType(kind.lower())
    if kind not in ("", "INNER", "OUTER", "CROSS"):
        raise not_yet(f"{kind} JOIN", place)
    return JoinType(side.lower()) if side else JoinType.INNER


def _event_time(relation: Relation, place: Place | None) -> str:
    return needs_time(relation.name, relation.node, relation.time, relation.place or place)
