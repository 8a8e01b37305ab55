"""Combines the bounds of a join from ON and WHERE, WITHIN, and properties."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.time_bounds import Bound, no_fixed_length_error, read_time_bound
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.names import IN_FROM
from millstream.plan.resolve.scope import Scope
from millstream.sql.intervals import interval_micros
from millstream.sql.statements import Property
from millstream.temporal import Bounds, DurationRangeError, format_span, parse_span
from millstream.values import JoinType


def reject_within_on_first_table(query: exp.Select, scope: Scope) -> None:
    if first := query.args["from_"].this.args.get("within"):
        raise PlanError(
            "MS-PLAN-WITHIN",
            "WITHIN is not allowed after the first table.",
            fix="Write it after the joined table: JOIN … WITHIN INTERVAL 5 MINUTES ON …",
            place=place_of(first, scope.text),
        )


def within_bounds(clause: exp.Join, scope: Scope) -> TimeBounds:
    second = clause.this.args.get("within")
    if second is None:
        return TimeBounds()
    try:
        span = interval_micros(second.this, scope.text)
    except DurationRangeError as error:
        raise error.at(place_of(second, scope.text)) from None
    if span is None:
        raise no_fixed_length_error(second, ExpressionReader(scope))
    return TimeBounds(-span, span)


def property_bounds(properties: Mapping[str, Property]) -> TimeBounds:
    lower, upper = properties.get("join.lower_bound"), properties.get("join.upper_bound")
    return TimeBounds(
        parse_span(lower.value) if lower else None, parse_span(upper.value) if upper else None
    )


def reject_bound_in_where(
    filters: list[exp.Expr],
    expressions: ExpressionReader,
    times: EventTimes,
    right: int,
    how: JoinType,
) -> None:
    """Rejects a bound in WHERE of an outer join that has none in ON."""
    if how.left_only:
        return
    for term in filters:
        expressions.check(term)
        if read_time_bound(term, expressions, times, right):
            raise PlanError(
                "MS-PLAN-BOUND-IN-WHERE",
                f"the time bound of a {how.upper()} JOIN is in WHERE, "
                "which would drop unmatched rows.",
                fix="Move it to ON.",
                place=place_of(term, expressions.scope.text),
            )


def choose_left_time(given: Bound, times: EventTimes, preferred: int) -> int:
    """Returns the left event time that a join uses.

    It is a time that the bound limits on both ends, directly or through bounds of joins below."""
    numbers = sorted(times.in_order, key=lambda number: number != preferred)
    for number in numbers:
        if number in given and given[number].is_closed:
            return number
    for number in numbers:
        if times.distance_to_new_time(number, given).is_closed:
            return number
    return next((number for number in numbers if number in given), numbers[0])


_OR_TTL = "or WITH ('state.ttl' = '1d')"


def require_closed_bounds(
    given: TimeBounds,
    names: tuple[str, str],
    texts: tuple[str, str],
    place: Place | None,
    window_rewrite: str | None = None,
) -> Bounds:
    """Returns a bound that is closed on both ends, or raises with a fix.

    `names` and `texts` are the names and event times of both sides; `window_rewrite` is a query
    with a window join, if the query has a WINDOW that applies to its aggregate."""
    one, other = texts
    left, right = names
    join = f"the join of {left} and {right}"
    if given.lower is None and given.upper is None:
        cause = f"{join} has no time bound, so its state would grow forever."
        fix = f"Add AND {other} BETWEEN {one} AND {one} + INTERVAL 24 HOURS to ON, "
        alias = other.rpartition(".")[0]
        stream = right if alias in ("", right) else f"{right} {alias}"
        if right.startswith(IN_FROM):
            stream = "…"
        fix += f"or JOIN {stream} WITHIN INTERVAL 5 MINUTES ON …, "
        fix += "or a WINDOW clause after ON, " if window_rewrite is None else ""
        fix += f"{_OR_TTL}."
    elif given.upper is None:
        cause = f"{join} has no upper time bound, so the state would keep rows of {left} forever."
        fix = f"Add AND {other} <= {one} + INTERVAL 24 HOURS to ON, {_OR_TTL}."
    elif given.lower is None:
        cause = f"{join} has no lower time bound, so the state would keep rows of {right} forever."
        fix = f"Add AND {other} >= {one} to ON, {_OR_TTL}."
    else:
        bounds = Bounds(given.lower, given.upper)
        if bounds.empty:
            raise PlanError(
                "MS-PLAN-EMPTY-BOUND",
                f"{join} has an empty time bound: {other} - {one} would have to be at least "
                f"{format_span(bounds.lower)} and at most {format_span(bounds.upper)}.",
                fix="Correct a reversed bound, or two bounds that contradict each other.",
                place=place,
            )
        return bounds
    if window_rewrite is not None:
        cause = f"{cause[:-1]}: WINDOW of a query with an aggregate applies to the aggregate."
        fix += f" For a window join, write a subquery: {window_rewrite}." if window_rewrite else ""
    raise PlanError("MS-PLAN-UNBOUNDED", cause, fix=fix, place=place)
