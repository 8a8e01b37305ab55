"""The kind of each join of a FROM clause, and the windows of its sides."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.joins.kinds import JoinKind
from millstream.plan.names.windows import window_of
from millstream.plan.refuse import place_of
from millstream.sql.text import SourceText
from millstream.temporal import Window


@dataclass(frozen=True, slots=True)
class Windows:
    """The kind of a join and, if it is a window join, the windows that its sides are given."""

    kind: JoinKind
    left: Window | None = None
    right: Window | None = None
    place: Place | None = None


def join_windows(tree: exp.Select, for_all: exp.Expr | None, text: SourceText) -> list[Windows]:
    """`for_all` is a WINDOW that stands for both sides of every join."""
    window = window_of(for_all, text) if for_all else None
    first = tree.args["from_"].this.args.get("stream_window")
    found: list[Windows] = []
    left = window_of(first, text) if first else None
    joins: list[exp.Join] = tree.args["joins"]
    for number, join in enumerate(joins):
        side = join.this.args.get("stream_window")
        if for_all and (side or first):
            raise PlanError(
                "MS-PLAN-WINDOW",
                "WINDOW is given for both sides and for one.",
                fix="Leave one of the two out.",
                place=place_of(for_all, text),
            )
        if join.this.args.get("version"):
            _refuse_window(side or (first if number == 0 else None), text)
            found.append(Windows(JoinKind.TEMPORAL))
        elif side or window or (number == 0 and left):
            right = window_of(side, text) if side else window
            one = window or (left if number == 0 else None)
            place = place_of(for_all or side or first, text)
            found.append(Windows(JoinKind.WINDOW, one, right, place))
        else:
            found.append(Windows(JoinKind.INTERVAL))
    return found


def _refuse_window(side: exp.Expr | None, text: SourceText) -> None:
    if side is not None:
        raise PlanError(
            "MS-PLAN-WINDOW",
            "a temporal join goes by the time of its rows, not by windows.",
            fix="Leave WINDOW out, or join in windows in a query around this one.",
            place=place_of(side, text),
        )
