"""Time bounds: which conjuncts say how far apart the event times of a pair may be.

A comparison is a bound when, with everything on one side, it reads
`right.time - left.time + constant <op> 0`, with the time of any one stream on the left. That covers
every natural spelling: BETWEEN, either order of operands, intervals added on either side, and the
difference of the times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.build.joins.event_times import Times
from millstream.plan.kinds.open_bounds import OpenBounds
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import Expressions
from millstream.sql.intervals import interval_micros
from millstream.temporal import MAX_SPAN, DurationRangeError

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.EQ: exp.EQ,
}


Bound = dict[int, OpenBounds]  # by the number of the relation whose time it starts from


@dataclass(frozen=True, slots=True)
class _Linear:
    """The sum of times, by the number of their relation, each so many times, and of micros; `odd`
    is an interval of no fixed length."""

    times: Mapping[int, int] = field(default_factory=dict)
    micros: int = 0
    odd: exp.Expr | None = None

    def plus(self, other: _Linear, sign: int = 1) -> _Linear:
        times = {
            number: count
            for number in {*self.times, *other.times}
            if (count := self.times.get(number, 0) + sign * other.times.get(number, 0))
        }
        return _Linear(times, self.micros + sign * other.micros, self.odd or other.odd)


def time_bound(node: exp.Expr, expressions: Expressions, times: Times, right: int) -> Bound | None:
    """The bound that a conjunct says, or None if it says something else.

    `times` has the event times of all relations, that of the join's right side under `right`.
    """
    if isinstance(node, exp.Paren):
        return time_bound(node.this, expressions, times, right)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = _compared(exp.GTE, node.this, node.args["low"], expressions, times, right)
        high = _compared(exp.LTE, node.this, node.args["high"], expressions, times, right)
        return both(low, high) if low and high else None
    for operator in _FLIPPED:
        if type(node) is operator:
            return _compared(operator, node.this, node.expression, expressions, times, right)
    return None


def both(one: Bound, other: Bound) -> Bound:
    found = dict(one)
    for number, bounds in other.items():
        found[number] = found.get(number, OpenBounds()) & bounds
    return found


def _compared(
    operator: type[exp.Expr],
    one: exp.Expr,
    other: exp.Expr,
    expressions: Expressions,
    times: Times,
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
    if form.odd is not None:
        raise no_fixed_length(form.odd, expressions)
    if abs(value) > MAX_SPAN:
        text = f"{expressions.written(one)} - ({expressions.written(other)})"
        raise DurationRangeError.of(text).at(place_of(one, expressions.scope.text))
    # Times are whole microseconds, so a strict comparison is one microsecond tighter.
    said: dict[type[exp.Expr], OpenBounds] = {
        exp.LTE: OpenBounds(upper=value),
        exp.LT: OpenBounds(upper=value - 1),
        exp.GTE: OpenBounds(lower=value),
        exp.GT: OpenBounds(lower=value + 1),
        exp.EQ: OpenBounds(value, value),
    }
    return {number: said[operator]}


def no_fixed_length(node: exp.Expr, expressions: Expressions) -> PlanError:
    return PlanError(
        "MS-PLAN-INTERVAL",
        f"{expressions.written(node)} has no fixed length.",
        fix="Use weeks, days, hours, minutes, seconds or milliseconds, written as a constant.",
        place=place_of(node, expressions.scope.text),
    )


def _linear(node: exp.Expr, expressions: Expressions, times: Times) -> _Linear | None:
    if isinstance(node, exp.Paren):
        return _linear(node.this, expressions, times)
    if isinstance(node, exp.Column):
        return _linear_column(node, expressions, times)
    micros = interval_micros(node, expressions.scope.text)
    if micros is not None:
        return _Linear(micros=micros)
    if isinstance(node, exp.Interval):
        return _Linear(odd=node)
    if isinstance(node, exp.Neg):
        form = _linear(node.this, expressions, times)
        return _Linear().plus(form, -1) if form else None
    if isinstance(node, exp.Add | exp.Sub):
        one = _linear(node.this, expressions, times)
        other = _linear(node.expression, expressions, times)
        if one is None or other is None:
            return None
        return one.plus(other, 1 if isinstance(node, exp.Add) else -1)
    return None


def _linear_column(node: exp.Column, expressions: Expressions, times: Times) -> _Linear | None:
    reference = expressions.bare(node)
    if reference is None or reference.origin is None or not times.is_time(reference.origin):
        return None
    return _Linear({reference.origin[0]: 1})
