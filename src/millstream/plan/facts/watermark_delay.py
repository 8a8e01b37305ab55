"""How far the watermark of a result lags behind that of its operator's input.

The hold of a join. Its result's watermark must not pass a row that is still to come out. A pair
comes out when its later row arrives, which is at W or after:

    left row arrives    left time >= W                    right time >= left + lower >= W + lower
    right row arrives   left time >= right - upper >= W - upper            right time >= W
    left row unmatched  comes out once W > t + upper, so one that has not has t >= W - upper
    right row unmatched comes out once W > t - lower, so one that has not has t >= W + lower

Hence a result with the left time lags by max(upper, 0), with the right time by max(-lower, 0), for
inner and outer joins alike. No microsecond is added: a row at the watermark is in time.

A join of a join's result may carry a time that it does not go by. Such a time lags by as much more
as it can be before the one that the join goes by, which the bounds of the joins below tell.

A row of a temporal join leaves once the watermark has passed it; looking ahead, it may wait for the
tolerance. A pair of a regular join holds no row that is older than its 'state.ttl' allows, so each
of its times lags by that.

The hold of windows. A result carries the last microsecond of its window, end - 1. A window can
change while end + lateness > W, so such a result has a time of W - lateness or later: it lags by
the allowed lateness, and by nothing if there is none. A session lags by a microsecond more: a row
just at its end would still extend it, so it closes once the watermark is past its end. Pairs of
sessions carry the later of both ends, and come out when both are closed.

A join with a table is a step of the stream: it holds nothing back.

Other operators. A row that passes a deduplication at once, or that leaves once the watermark is
past it, was not late before the batch in which it comes out: no hold. Nor have the first results of
a window, which come out when it closes. Rows that are taken back at any time carry no event time.
A late row that is reassigned counts as in time, but still carries its own: it lags by the budget.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.expressions import Expression
from millstream.plan.facts.time_distance import offset_from_join_time, side_columns_of
from millstream.plan.kinds import join_kind_of, kind_of
from millstream.plan.nodes import Join, Select, Source, TableJoin
from millstream.plan.nodes.traversal import Stateless
from millstream.temporal import LateAction, format_span


@dataclass(frozen=True, slots=True)
class ResultTime:
    """The event time of a Select's rows and how far its watermark lags behind the input's."""

    time: str
    delay: int

    def __str__(self) -> str:
        if self.delay == 0:
            return f"{self.time}; its watermark is that of the input"
        return f"{self.time}; its watermark is {format_span(self.delay)} behind that of the input"


def result_time(select: Select) -> ResultTime | None:
    """The event time of the rows of a Select and the lag its own input adds, if it carries one."""
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
    """The lag of pairs with a time of either side, which may be before the one that the join uses
    there. A late row that is reassigned still carries its own time."""
    kind, holds = join_kind_of(join), []
    for number, name in side_columns_of(join, carried):
        least = offset_from_join_time(join, number, name).lower
        assert least is not None, f"{carried} is no event time of the join"
        holds.append(max(kind.watermark_delay(join, number) - least, 0))
    return max(holds) + (join.late.budget if join.late.action is LateAction.REASSIGN else 0)


def watermark_delay_of(node: Source | Select) -> int:
    """How far a stream lags: a source by its delay, results behind their operator's input."""
    if isinstance(node, Source):
        return node.watermark.delay if node.watermark else 0
    below = node.input
    if isinstance(below, TableJoin):
        below = below.left.node
    return _added_delay(node) + (
        watermark_delay_of(below) if isinstance(below, Source | Select) else 0
    )
