"""Derives how far the watermark of a result is behind the watermark of its operator's input.

Joins. The watermark of the result must not pass a row that is emitted later. A pair is emitted when
its later row arrives, which is at W or after:

    left row arrives    left time >= W                    right time >= left + lower >= W + lower
    right row arrives   left time >= right - upper >= W - upper            right time >= W
    left row unmatched  is emitted once W > t + upper, so before that t >= W - upper
    right row unmatched is emitted once W > t - lower, so before that t >= W + lower

So a result with the left time is delayed by max(upper, 0), and with the right time by
max(-lower, 0), for inner and outer joins alike. No microsecond is added: a row at the watermark is
not late.

A join of a join's result can carry a time that it does not use. The delay is longer by the largest
distance of this time before the one that the join uses, which follows from the bounds of the joins
below.

A row of a temporal join is emitted once the watermark has passed it; forward, it can also wait for
the tolerance. A pair of a regular join has no row older than 'state.ttl', so each of its times is
delayed by 'state.ttl'.

Windows. A result carries the last microsecond of its window, end - 1. A window can change while
end + lateness > W, so its result has a time of W - lateness or later: the delay is the allowed
lateness. A session has one microsecond more: a row exactly at its end would still extend it, so it
closes once the watermark is past its end. Pairs of sessions carry the later of both ends, and are
emitted when both are closed.

A table join is stateless and adds no delay. The branches of a UNION ALL have a delay each; here it
is the longest.

Other operators. A row that is emitted immediately, or once the watermark is past it, was not late
before its batch: no delay. The same is true of the first result of a window, which is emitted when
the window closes. Rows that can be retracted at any time carry no event time. A late row that is
reassigned is not treated as late, but still carries its own time: the delay is the budget.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.expressions import Expression
from millstream.plan.facts.time_distance import offset_from_join_time, side_columns_of
from millstream.plan.kinds import join_kind_of, kind_of
from millstream.plan.nodes import Join, Select, Source, TableJoin, UnionAll
from millstream.plan.nodes.traversal import Stateless
from millstream.temporal import LateAction, format_span


@dataclass(frozen=True, slots=True)
class ResultTime:
    """The event time of a result, and the delay of its watermark behind the input."""

    time: str
    delay: int

    def __str__(self) -> str:
        if self.delay == 0:
            return f"{self.time}; same watermark as the input"
        return f"{self.time}; watermark {format_span(self.delay)} behind the input"


def result_time(select: Select) -> ResultTime | None:
    """Returns the event time of a Select's rows and the delay that its input adds, or None."""
    if select.time is None:
        return None
    return ResultTime(select.time, _added_delay(select))


def _added_delay(select: Select) -> int:
    below = select.input
    if isinstance(below, Stateless):
        return 0
    if not isinstance(below, Join) or join_kind_of(below).emits_window:
        return kind_of(below).watermark_delay(below, 0)
    carried = next(each.expression for each in select.outputs if each.name == select.time)
    return _added_delay_of_pairs(below, carried)


def _added_delay_of_pairs(join: Join, carried: Expression) -> int:
    """Returns the delay of pairs that carry a time of either side.

    This time can be before the one that the join uses. A late row that is reassigned still carries
    its own time.
    """
    kind, holds = join_kind_of(join), []
    for number, name in side_columns_of(join, carried):
        least = offset_from_join_time(join, number, name).lower
        assert least is not None, f"{carried} is no event time of the join"
        holds.append(max(kind.watermark_delay(join, number) - least, 0))
    return max(holds) + (join.late.budget if join.late.action is LateAction.REASSIGN else 0)


def watermark_delay_of(node: Source | Select) -> int:
    """Returns the watermark delay of a stream: a source's own, or of results behind their input."""
    if isinstance(node, Source):
        return node.watermark.delay if node.watermark else 0
    if node.watermark is not None:
        return node.watermark.delay
    below = node.input
    if isinstance(below, TableJoin):
        below = below.left.node
    if isinstance(below, UnionAll):
        return _added_delay(node) + max(watermark_delay_of(each) for each in below.inputs)
    return _added_delay(node) + (
        watermark_delay_of(below) if isinstance(below, Source | Select) else 0
    )
