"""Time bounds: which conjuncts say how far apart the event times of a pair may be.

A comparison is a bound when, with everything on one side, it reads
`right.time - left.time + constant <op> 0`. That covers every natural spelling: BETWEEN, either
order of operands, intervals added on either side, and the difference of the times.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.expressions import Expressions
from millstream.plan.refuse import place_of
from millstream.sql.intervals import interval_micros

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.EQ: exp.EQ,
}


@dataclass(frozen=True, slots=True)
class OpenBounds:
    """Bounds in the making; None is an end not given."""

    lower: int | None = None
    upper: int | None = None

    def __and__(self, other: OpenBounds) -> OpenBounds:
        lowers = [end for end in (self.lower, other.lower) if end is not None]
        uppers = [end for end in (self.upper, other.upper) if end is not None]
        return OpenBounds(max(lowers, default=None), min(uppers, default=None))


@dataclass(frozen=True, slots=True)
class _Linear:
    """left·(left time) + right·(right time) + micros; `odd` is an interval of no fixed length."""

    left: int = 0
    right: int = 0
    micros: int = 0
    odd: exp.Expr | None = None

    def plus(self, other: _Linear, sign: int = 1) -> _Linear:
        return _Linear(
            self.left + sign * other.left,
            self.right + sign * other.right,
            self.micros + sign * other.micros,
            self.odd or other.odd,
        )


def time_bound(
    node: exp.Expr, expressions: Expressions, times: tuple[str, str]
) -> OpenBounds | None:
    """The bound that a conjunct says, or None if it says something else.

    `times` are the event-time columns of the two relations.
    """
    if isinstance(node, exp.Paren):
        return time_bound(node.this, expressions, times)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = _compared(exp.GTE, node.this, node.args["low"], expressions, times)
        high = _compared(exp.LTE, node.this, node.args["high"], expressions, times)
        return low & high if low and high else None
    for operator in _FLIPPED:
        if type(node) is operator:
            return _compared(operator, node.this, node.expression, expressions, times)
    return None


def _compared(
    operator: type[exp.Expr],
    one: exp.Expr,
    other: exp.Expr,
    expressions: Expressions,
    times: tuple[str, str],
) -> OpenBounds | None:
    left, right = _linear(one, expressions, times), _linear(other, expressions, times)
    if left is None or right is None:
        return None
    form = left.plus(right, -1)
    if (form.left, form.right) == (-1, 1):
        value = -form.micros
    elif (form.left, form.right) == (1, -1):
        operator, value = _FLIPPED[operator], form.micros
    else:
        return None
    if form.odd is not None:
        raise no_fixed_length(form.odd, expressions)
    # Times are whole microseconds, so a strict comparison is one microsecond tighter.
    said: dict[type[exp.Expr], OpenBounds] = {
        exp.LTE: OpenBounds(upper=value),
        exp.LT: OpenBounds(upper=value - 1),
        exp.GTE: OpenBounds(lower=value),
        exp.GT: OpenBounds(lower=value + 1),
        exp.EQ: OpenBounds(value, value),
    }
    return said[operator]


def no_fixed_length(node: exp.Expr, expressions: Expressions) -> PlanError:
    return PlanError(
        "MS-PLAN-INTERVAL",
        f"{expressions.written(node)} has no fixed length.",
        fix="Use weeks, days, hours, minutes, seconds or milliseconds, written as a constant.",
        place=place_of(node, expressions.scope.text),
    )


def _linear(node: exp.Expr, expressions: Expressions, times: tuple[str, str]) -> _Linear | None:
    if isinstance(node, exp.Paren):
        return _linear(node.this, expressions, times)
    if isinstance(node, exp.Column):
        return _linear_column(node, expressions, times)
    micros = interval_micros(node)
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


def _linear_column(
    node: exp.Column, expressions: Expressions, times: tuple[str, str]
) -> _Linear | None:
    reference = expressions.bare(node)
    if reference is None:
        return None
    if reference.reads == ((0, times[0]),):
        return _Linear(left=1)
    if reference.reads == ((1, times[1]),):
        return _Linear(right=1)
    return None
