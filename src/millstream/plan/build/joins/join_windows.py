"""The kind of each join of a FROM clause, and the windows of its sides."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.tables.versioned import VersionedTable
from millstream.plan.nodes import JoinKind, ReferenceTable
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.window_clause import read_window
from millstream.sql.text import SourceText
from millstream.temporal import LateAction, LatePolicy, Window


@dataclass(frozen=True, slots=True)
class JoinWindows:
    """The kind of a join and, if it is a window join, the windows that its sides are given."""

    kind: JoinKind
    left: Window | None = None
    right: Window | None = None
    place: Place | None = None


def resolve_join_windows(
    tree: exp.Select,
    shared_clause: exp.Expr | None,
    tables: list[VersionedTable | ReferenceTable | None],
    text: SourceText,
) -> list[JoinWindows]:
    """`shared_clause` is a WINDOW that stands for both sides of every join of streams; `tables` are what
    is joined, where it is a table."""
    window = read_window(shared_clause, text) if shared_clause else None
    first = tree.args["from_"].this.args.get("stream_window")
    found: list[JoinWindows] = []
    left = read_window(first, text) if first else None
    seen_stream_join = False  # has the first join of streams been met?
    joins: list[exp.Join] = tree.args["joins"]
    for join, table in zip(joins, tables, strict=True):
        side = join.this.args.get("stream_window")
        if isinstance(table, ReferenceTable):
            _reject_window(side, "a table has no event time that windows could go by", text)
            found.append(JoinWindows(JoinKind.LOOKUP))
            continue
        if shared_clause and (side or first):
            raise PlanError(
                "MS-PLAN-WINDOW",
                "WINDOW is given for both sides and for one.",
                fix="Leave one of the two out.",
                place=place_of(shared_clause, text),
            )
        if join.this.args.get("version"):
            _reject_window(side or (None if seen_stream_join else first), _TEMPORAL, text)
            found.append(JoinWindows(JoinKind.TEMPORAL))
        elif side or window or (left and not seen_stream_join):
            right = read_window(side, text) if side else window
            one = window or (None if seen_stream_join else left)
            place = place_of(shared_clause or side or first, text)
            found.append(JoinWindows(JoinKind.WINDOW, one, right, place))
        else:
            found.append(JoinWindows(JoinKind.INTERVAL))
        seen_stream_join = True
    if seen_stream_join and not any(each.kind is JoinKind.WINDOW for each in found):
        _reject_window(shared_clause, _TEMPORAL, text)
    return found


_TEMPORAL = "a temporal join goes by the time of its rows, not by windows"


def _reject_window(side: exp.Expr | None, why: str, text: SourceText) -> None:
    if side is not None:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{why}.",
            fix="Leave WINDOW out, or join in windows in a query around this one.",
            place=place_of(side, text),
        )


def require_windows(
    left: LeftInput, windows: JoinWindows, options: JoinOptions
) -> tuple[Window, Window]:
    """The windows of both sides; joins below have given the left side its own already."""
    one, other = windows.left, windows.right
    if left.join_result is not None:
        one = left.window or one
    if one is None or other is None:
        bare = left.name if one is None else options.right.name
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"one side of the join is in windows, and {bare} is not.",
            fix=f"Write a WINDOW after {bare}, too, or one for both after ON.",
            place=windows.place,
        )
    return one, other


def resolve_window_late_policy(options: JoinOptions) -> LatePolicy:
    late = options.late
    if late.action is LateAction.REASSIGN:
        raise not_supported(
            "'late.policy' = 'reassign' of a window join",
            options.properties["late.policy"].place,
            fix="Let windows take rows for longer with 'window.lateness', or use side_output.",
        )
    return late


def reject_other_bounds(options: JoinOptions) -> None:
    within = options.clause.this.args.get("within")
    given = [item for name, item in options.properties.items() if name.endswith("_bound")]
    given += [item for name, item in options.properties.items() if name == "join.retention"]
    if within is None and not given:
        return
    what, place = ("WITHIN", options.place) if within else (f"'{given[0].name}'", given[0].place)
    raise PlanError(
        "MS-PLAN-WITHIN",
        f"the join has a WINDOW and {what}.",
        fix="Leave one of the two out; a predicate of ON may bound the times inside a window.",
        place=place,
    )
