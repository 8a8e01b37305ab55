"""A join of two streams in a query becomes an IntervalJoin, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.bounds import OpenBounds, no_fixed_length, time_bound
from millstream.plan.expressions import Expressions
from millstream.plan.names import nearest, quote
from millstream.plan.nodes import (
    Column,
    Input,
    IntervalJoin,
    JoinType,
    Key,
    Select,
    Source,
)
from millstream.plan.predicates import Conjuncts, conjuncts_of, sort_conjuncts
from millstream.plan.refuse import not_yet, place_of
from millstream.plan.scope import Merged, Relation, Scope
from millstream.sql.intervals import interval_micros
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import (
    Bounds,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
    format_span,
    parse_span,
)


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
            names = tuple(c.name for c in side.node.columns if every or c.name in used)
            sides.append(replace(side, used=names))
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
    times = _event_time(left, place), _event_time(right, place)
    both = Scope(relations, text)
    merged = _merged(clause, both, how)
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
    keys = tuple(_using_keys(clause, both)) + tuple(found.keys)
    if not keys:
        raise _no_key(left, right, place)
    given = found.bounds & _within(query, clause, both) & _property_bounds(properties)
    if not inner:
        _refuse_bound_in_where(filters, given, Expressions(scope), times, how)
    bounds = _closed(given, left, right, times, place)
    join = IntervalJoin(
        left=Input(left.alias, left.node, times[0], delay_of(left.node), ()),
        right=Input(right.alias, right.node, times[1], delay_of(right.node), ()),
        how=how,
        keys=keys,
        bounds=bounds,
        left_where=found.left_where,
        right_where=found.right_where,
        across=found.predicate,
        across_sql=" AND ".join(found.across_texts) or None,
        only_spark=found.only_spark,
        late=_late_policy(properties, sinks),
        retention=_retention(properties, bounds),
        limit=_limit(properties),
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
    outer = sort_texts(filters, expressions)
    reads = {read for term in filters for read in expressions.reads(term)}
    return outer, frozenset(found.reads | reads)


def sort_texts(terms: list[exp.Expr], expressions: Expressions) -> tuple[str, ...]:
    """Filters in the order they were written."""
    from millstream.plan.predicates import conjunct_text

    for term in terms:
        expressions.check(term)
    return tuple(conjunct_text(term, expressions) for term in terms)


def delay_of(node: Source | Select) -> int:
    """The watermark delay of the source below a stateless stream."""
    while isinstance(node, Select):
        if isinstance(node.input, IntervalJoin):
            return max(node.input.left.delay, node.input.right.delay)
        node = node.input
    return node.watermark.delay if node.watermark else 0


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
    if method or side == "RIGHT" and kind in ("SEMI", "ANTI"):
        raise not_yet(f"{method or side} {kind} JOIN".replace("  ", " "), place)
    if kind in ("SEMI", "ANTI"):
        return JoinType(kind.lower())
    if kind not in ("", "INNER", "OUTER", "CROSS"):
        raise not_yet(f"{kind} JOIN", place)
    return JoinType(side.lower()) if side else JoinType.INNER


def _event_time(relation: Relation, place: Place | None) -> str:
    if relation.time is not None:
        return relation.time
    if isinstance(relation.node, Source):
        time = next(
            (c.name for c in relation.columns if (c.type or "").upper().startswith("TIMESTAMP")),
            "event_time",
        )
        cause = f"{relation.name} has no watermark, so no row of it could ever be let go."
        fix = f"Declare WATERMARK FOR {time} AS {time} - INTERVAL 5 SECONDS in {relation.name}."
    else:
        cause = f"{relation.name} does not carry the event time of its input."
        fix = "Select the event-time column there, unchanged; it may have another name."
    raise PlanError("MS-PLAN-NO-WATERMARK", cause, fix=fix, place=relation.place or place)


def _using_keys(clause: exp.Join, scope: Scope) -> list[Key]:
    left, right = scope.relations
    return [
        Key(left.text(one.name), right.text(other.name))
        for one, other in _using_columns(clause, scope)
    ]


def _using_columns(clause: exp.Join, scope: Scope) -> list[tuple[Column, Column]]:
    pairs = []
    for identifier in clause.args.get("using") or []:
        found = []
        for relation in scope.relations:
            column = next(
                (c for c in relation.columns if c.name.lower() == identifier.name.lower()), None
            )
            if column is None:
                raise PlanError(
                    "MS-PLAN-UNKNOWN-COLUMN",
                    f"{relation.alias} has no column {identifier.name}, which USING names.",
                    fix=nearest(identifier.name, [c.name for c in relation.columns]),
                    place=place_of(identifier, scope.text),
                )
            found.append(column)
        pairs.append((found[0], found[1]))
    return pairs


def _merged(clause: exp.Join, scope: Scope, how: JoinType) -> dict[str, Merged]:
    left, right = scope.relations
    merged = {}
    for one, other in _using_columns(clause, scope):
        texts = left.text(one.name), right.text(other.name)
        reads = (0, one.name), (1, other.name)
        if how is JoinType.FULL:
            item = Merged(f"coalesce({texts[0]}, {texts[1]})", reads, one)
        elif how is JoinType.RIGHT:
            item = Merged(texts[1], reads[1:], other)
        else:
            item = Merged(texts[0], reads[:1], one)
        merged[one.name.lower()] = item
    return merged


def _within(query: exp.Select, clause: exp.Join, scope: Scope) -> OpenBounds:
    first = query.args["from_"].this.args.get("within")
    if first:
        raise PlanError(
            "MS-PLAN-WITHIN",
            "WITHIN stands after the first table.",
            fix="Write it after the joined table: JOIN … WITHIN INTERVAL 5 MINUTES ON …",
            place=place_of(first, scope.text),
        )
    within = clause.this.args.get("within")
    if within is None:
        return OpenBounds()
    span = interval_micros(within.this)
    if span is None:
        raise no_fixed_length(within, Expressions(scope))
    return OpenBounds(-span, span)


def _property_bounds(properties: Mapping[str, Property]) -> OpenBounds:
    lower, upper = properties.get("join.lower_bound"), properties.get("join.upper_bound")
    return OpenBounds(
        parse_span(lower.value) if lower else None, parse_span(upper.value) if upper else None
    )


def _refuse_bound_in_where(
    filters: list[exp.Expr],
    given: OpenBounds,
    expressions: Expressions,
    times: tuple[str, str],
    how: JoinType,
) -> None:
    if (given.lower is not None and given.upper is not None) or how.left_only:
        return
    for term in filters:
        expressions.check(term)
        if time_bound(term, expressions, times):
            raise PlanError(
                "MS-PLAN-BOUND-IN-WHERE",
                f"the time bound of a {how.upper()} JOIN stands in WHERE, "
                "where it would drop the rows without a partner.",
                fix="Move it to ON.",
                place=place_of(term, expressions.scope.text),
            )


def _closed(
    given: OpenBounds,
    left: Relation,
    right: Relation,
    times: tuple[str, str],
    place: Place | None,
) -> Bounds:
    one, other = (f"{quote(r.alias)}.{quote(t)}" for r, t in zip((left, right), times, strict=True))
    join = f"join of {left.name} and {right.name}"
    if given.lower is None and given.upper is None:
        cause = f"{join} has no time bound, so every row would be kept for ever."
        fix = f"Add AND {other} BETWEEN {one} AND {one} + INTERVAL 24 HOURS to ON, "
        fix += f"or WITHIN INTERVAL 5 MINUTES after {right.name}."
    elif given.upper is None:
        cause = f"{join} has no upper time bound, so rows of {left.name} would be kept for ever."
        fix = f"Add AND {other} <= {one} + INTERVAL 24 HOURS to ON."
    elif given.lower is None:
        cause = f"{join} has no lower time bound, so rows of {right.name} would be kept for ever."
        fix = f"Add AND {other} >= {one} to ON."
    else:
        bounds = Bounds(given.lower, given.upper)
        if bounds.empty:
            raise PlanError(
                "MS-PLAN-EMPTY-BOUND",
                f"{join} can match nothing: {other} - {one} would have to be at least "
                f"{format_span(bounds.lower)} and at most {format_span(bounds.upper)}.",
                fix="Look for a bound that is turned round, or that contradicts another.",
                place=place,
            )
        return bounds
    raise PlanError("MS-PLAN-UNBOUNDED", cause, fix=fix, place=place)


def _no_key(left: Relation, right: Relation, place: Place | None) -> PlanError:
    return PlanError(
        "MS-PLAN-NO-KEY",
        f"join of {left.name} and {right.name} has no key.",
        fix=f"Add an equality of both sides to ON, such as {left.alias}.id = {right.alias}.id.",
        place=place,
    )


def _late_policy(properties: Mapping[str, Property], sinks: Collection[str]) -> LatePolicy:
    policy, sink = properties.get("late.policy"), properties.get("late.sink")
    action = LateAction(policy.value.lower()) if policy else LateAction.DROP
    if action is LateAction.REASSIGN:
        raise not_yet("'late.policy' = 'reassign'", policy.place if policy else None)
    if sink is None:
        return LatePolicy(action)
    if action is not LateAction.SIDE_OUTPUT:
        raise PlanError(
            "MS-PLAN-LATE-SINK",
            f"'late.sink' names {sink.value}, but late rows are dropped.",
            fix="Add 'late.policy' = 'side_output'.",
            place=sink.place,
        )
    known = next((name for name in sinks if name.lower() == sink.value.lower()), None)
    if known is None:
        raise PlanError(
            "MS-PLAN-UNKNOWN-SINK",
            f"'late.sink' names {sink.value}, which is not declared.",
            fix=nearest(sink.value, sinks) or f"Add CREATE SINK {sink.value} WITH (…);",
            place=sink.value_place,
        )
    return LatePolicy(action, sink=known)


def _retention(properties: Mapping[str, Property], bounds: Bounds) -> int | None:
    given = properties.get("join.retention")
    if given is None:
        return None
    retention, needed = parse_span(given.value), max(bounds.upper, -bounds.lower, 0)
    if retention < needed:
        raise PlanError(
            "MS-PLAN-RETENTION",
            f"'join.retention' is {format_span(retention)}, but the bound {bounds} needs rows "
            f"to be kept for {format_span(needed)}.",
            fix=f"Give {format_span(needed)} or more, or leave it out.",
            place=given.value_place,
        )
    return retention


def _limit(properties: Mapping[str, Property]) -> StateLimit:
    def number(name: str) -> int | None:
        found = properties.get(name)
        return int(found.value) if found else None

    on_limit = properties.get("state.on_limit")
    return StateLimit(
        number("state.max_rows"),
        number("state.max_bytes"),
        OnLimit(on_limit.value.lower()) if on_limit else OnLimit.FAIL,
    )
