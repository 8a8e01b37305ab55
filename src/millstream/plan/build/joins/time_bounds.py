"""Reads time bounds: predicates that limit the distance of the event times of a pair.

A comparison is a bound if it is equivalent to `right.time - left.time + constant <op> 0`, with the
time of any stream on the left. This includes BETWEEN, either order of operands, intervals added on
either side, and the difference of the times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.kinds.time_bounds import TimeBounds
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.sql.intervals import interval_micros
from millstream.temporal import MAX_SPAN, DurationRangeError

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.EQ: exp.EQ,
}


Bound = dict[int, TimeBounds]  # by the number of the left time's relation


@dataclass(frozen=True, slots=True)
class _LinearForm:
    """A linear combination of event times (by number, with their coefficients) and microseconds.

    `variable_interval` is an interval without a fixed length.
    """

    times: Mapping[int, int] = field(default_factory=dict)
    micros: int = 0
    variable_interval: exp.Expr | None = None

    def plus(self, other: _LinearForm, sign: int = 1) -> _LinearForm:
        times = {
            number: count
            for number in {*self.times, *other.times}
            if (count := self.times.get(number, 0) + sign * other.times.get(number, 0))
        }
        return _LinearForm(
            times,
            self.micros + sign * other.micros,
            self.variable_interval or other.variable_interval,
        )


def read_time_bound(
    node: exp.Expr, expressions: ExpressionReader, times: EventTimes, right: int
) -> Bound | None:
    """Returns the bound of a term, or None if the term is no bound.

    `times` are the event times of all relations; `right` is the number of the right side's.
    """
    if isinstance(node, exp.Paren):
        return read_time_bound(node.this, expressions, times, right)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = _compared(exp.GTE, node.this, node.args["low"], expressions, times, right)
        high = _compared(exp.LTE, node.this, node.args["high"], expressions, times, right)
        return intersect_bounds(low, high) if low and high else None
    for operator in _FLIPPED:
        if type(node) is operator:
            return _compared(operator, node.this, node.expression, expressions, times, right)
    return None


def intersect_bounds(one: Bound, other: Bound) -> Bound:
    found = dict(one)
    for number, bounds in other.items():
        found[number] = found.get(number, TimeBounds()) & bounds
    return found


def _compared(
    operator: type[exp.Expr],
    one: exp.Expr,
    other: exp.Expr,
    expressions: ExpressionReader,
    times: EventTimes,
    right: int,
) -> Bound | None:
    before, after = _linear(one, expressions, times), _linear(other, expressions, times)
    if before is None or after is None:
        return None
    form = before.plus(after, -1)
    number = next((number for number in form.times if number != right), None)
    if number is None or len(form.times) != 2:
        return None
    if (form.times[number], form.times.get(right)) == (-1, 1):
        value = -form.micros
    elif (form.times[number], form.times.get(right)) == (1, -1):
        operator, value = _FLIPPED[operator], form.micros
    else:
        return None
    if form.variable_interval is not None:
        raise no_fixed_length_error(form.variable_interval, expressions)
    if abs(value) > MAX_SPAN:
        text = f"{expressions.source_sql(one)} - ({expressions.source_sql(other)})"
        raise DurationRangeError.of(text).at(place_of(one, expressions.scope.text))
    # Event times are whole microseconds, so a strict comparison is one microsecond tighter.
    said: dict[type[exp.Expr], TimeBounds] = {
        exp.LTE: TimeBounds(upper=value),
        exp.LT: TimeBounds(upper=value - 1),
        exp.GTE: TimeBounds(lower=value),
        exp.GT: TimeBounds(lower=value + 1),
        exp.EQ: TimeBounds(value, value),
    }
    return {number: said[operator]}


def no_fixed_length_error(node: exp.Expr, expressions: ExpressionReader) -> PlanError:
    return PlanError(
        "MS-PLAN-INTERVAL",
        f"{expressions.source_sql(node)} has no fixed length.",
        fix="Use a constant in weeks, days, hours, minutes, seconds or milliseconds.",
        place=place_of(node, expressions.scope.text),
    )


def _linear(node: exp.Expr, expressions: ExpressionReader, times: EventTimes) -> _LinearForm | None:
    if isinstance(node, exp.Paren):
        return _linear(node.this, expressions, times)
    if isinstance(node, exp.Column):
        return _linear_column(node, expressions, times)
    micros = interval_micros(node, expressions.scope.text)
    if micros is not None:
        return _LinearForm(micros=micros)
    if isinstance(node, exp.Interval):
        return _LinearForm(variable_interval=node)
    if isinstance(node, exp.Neg):
        form = _linear(node.this, expressions, times)
        return _LinearForm().plus(form, -1) if form else None
    if isinstance(node, exp.Add | exp.Sub):
        one = _linear(node.this, expressions, times)
        other = _linear(node.expression, expressions, times)
        if one is None or other is None:
            return None
        return one.plus(other, 1 if isinstance(node, exp.Add) else -1)
    return None


def _linear_column(
    node: exp.Column, expressions: ExpressionReader, times: EventTimes
) -> _LinearForm | None:
    reference = expressions.column_reference(node)
    if reference is None or reference.origin is None or not times.is_time(reference.origin):
        return None
    return _LinearForm({reference.origin[0]: 1})
