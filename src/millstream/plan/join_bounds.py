"""Where the bound of a join comes from: ON and WHERE, WITHIN, and properties; all must hold."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.bounds import OpenBounds, no_fixed_length, time_bound
from millstream.plan.expressions import Expressions
from millstream.plan.nodes import JoinType
from millstream.plan.refuse import place_of
from millstream.plan.scope import Relation, Scope
from millstream.sql.intervals import interval_micros
from millstream.sql.statements import Property
from millstream.temporal import Bounds, format_span, parse_span


def within(query: exp.Select, clause: exp.Join, scope: Scope) -> OpenBounds:
    first = query.args["from_"].this.args.get("within")
    if first:
        raise PlanError(
            "MS-PLAN-WITHIN",
            "WITHIN stands after the first table.",
            fix="Write it after the joined table: JOIN … WITHIN INTERVAL 5 MINUTES ON …",
            place=place_of(first, scope.text),
        )
    second = clause.this.args.get("within")
    if second is None:
        return OpenBounds()
    span = interval_micros(second.this)
    if span is None:
        raise no_fixed_length(second, Expressions(scope))
    return OpenBounds(-span, span)


def property_bounds(properties: Mapping[str, Property]) -> OpenBounds:
    lower, upper = properties.get("join.lower_bound"), properties.get("join.upper_bound")
    return OpenBounds(
        parse_span(lower.value) if lower else None, parse_span(upper.value) if upper else None
    )


def refuse_bound_in_where(
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


def closed(
    given: OpenBounds,
    left: Relation,
    right: Relation,
    times: tuple[str, str],
    place: Place | None,
) -> Bounds:
    one, other = left.text(times[0]), right.text(times[1])
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
