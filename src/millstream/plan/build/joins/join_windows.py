"""The kind of each join of a FROM clause, and the windows of its sides."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.tables.versioned import Table
from millstream.plan.join_kinds import JoinKind
from millstream.plan.nodes import Reference
from millstream.plan.reject import place_of
from millstream.plan.resolve.window_clause import window_of
from millstream.sql.text import SourceText
from millstream.temporal import Window


@dataclass(frozen=True, slots=True)
class Windows:
    """The kind of a join and, if it is a window join, the windows that its sides are given."""

    kind: JoinKind
    left: Window | None = None
    right: Window | None = None
    place: Place | None = None


def join_windows(
    tree: exp.Select,
    for_all: exp.Expr | None,
    tables: list[Table | Reference | None],
    text: SourceText,
) -> list[Windows]:
    """`for_all` is a WINDOW that stands for both sides of every join of streams; `tables` are what
    is joined, where it is a table."""
    window = window_of(for_all, text) if for_all else None
    first = tree.args["from_"].this.args.get("stream_window")
    found: list[Windows] = []
    left = window_of(first, text) if first else None
    begun = False  # has the first join of streams been met?
    joins: list[exp.Join] = tree.args["joins"]
    for join, table in zip(joins, tables, strict=True):
        side = join.this.args.get("stream_window")
        if isinstance(table, Reference):
            _refuse_window(side, "a table has no event time that windows could go by", text)
            found.append(Windows(JoinKind.LOOKUP))
            continue
        if for_all and (side or first):
            raise PlanError(
                "MS-PLAN-WINDOW",
                "WINDOW is given for both sides and for one.",
                fix="Leave one of the two out.",
                place=place_of(for_all, text),
            )
        if join.this.args.get("version"):
            _refuse_window(side or (None if begun else first), _TEMPORAL, text)
            found.append(Windows(JoinKind.TEMPORAL))
        elif side or window or (left and not begun):
            right = window_of(side, text) if side else window
            one = window or (None if begun else left)
            place = place_of(for_all or side or first, text)
            found.append(Windows(JoinKind.WINDOW, one, right, place))
        else:
            found.append(Windows(JoinKind.INTERVAL))
        begun = True
    if begun and not any(each.kind is JoinKind.WINDOW for each in found):
        _refuse_window(for_all, _TEMPORAL, text)
    return found


_TEMPORAL = "a temporal join goes by the time of its rows, not by windows"


def _refuse_window(side: exp.Expr | None, why: str, text: SourceText) -> None:
    if side is not None:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{why}.",
            fix="Leave WINDOW out, or join in windows in a query around this one.",
            place=place_of(side, text),
        )
