"""Resolves the kind of each join of a FROM clause and the windows of its sides."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.match_condition import (
    is_temporal,
    reject_asof_of_table,
    reject_match_condition,
)
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.tables.versioned import VersionedTable
from millstream.plan.nodes import JoinKind, ReferenceTable
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.window_clause import read_window
from millstream.sql.text import SourceText
from millstream.temporal import LateAction, LatePolicy, Window


@dataclass(frozen=True, slots=True)
class JoinWindows:
    """The kind of a join and, for a window join, the windows of its sides."""

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
    """Resolves the kind and the windows of each join.

    `shared_clause` is a WINDOW for both sides of every join of streams; `tables` are the tables on
    the right sides."""
    window = read_window(shared_clause, text) if shared_clause else None
    first = tree.args["from_"].this.args.get("stream_window")
    found: list[JoinWindows] = []
    left = read_window(first, text) if first else None
    seen_stream_join = False  # the first join of streams is done
    joins: list[exp.Join] = tree.args["joins"]
    for join, table in zip(joins, tables, strict=True):
        side = join.this.args.get("stream_window")
        reject_match_condition(join, text)
        if isinstance(table, ReferenceTable):
            reject_asof_of_table(join, text)
            _reject_window(side, "a reference table has no event time for windows", text)
            found.append(JoinWindows(JoinKind.LOOKUP))
            continue
        if shared_clause and (side or first):
            raise PlanError(
                "MS-PLAN-WINDOW",
                "WINDOW is set for both sides and for one side.",
                fix="Remove one of them.",
                place=place_of(shared_clause, text),
            )
        if is_temporal(join):
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


_TEMPORAL = "a temporal join does not support windows"


def _reject_window(side: exp.Expr | None, why: str, text: SourceText) -> None:
    if side is not None:
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"{why}.",
            fix="Remove WINDOW, or add a window join in an outer query.",
            place=place_of(side, text),
        )


def require_windows(
    left: LeftInput, windows: JoinWindows, options: JoinOptions
) -> tuple[Window, Window]:
    """Returns the windows of both sides; the left side may have its window from joins below."""
    one, other = windows.left, windows.right
    if left.join_result is not None:
        one = left.window or one
    if one is None or other is None:
        bare = left.name if one is None else options.right.name
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"one side of the join has a WINDOW, and {bare} has none.",
            fix=f"Write a WINDOW after {bare}, or one for both sides after ON.",
            place=windows.place,
        )
    return one, other


def resolve_window_late_policy(options: JoinOptions) -> LatePolicy:
    late = options.late
    if late.action is LateAction.REASSIGN:
        raise not_supported(
            "'late.policy' = 'reassign' of a window join",
            options.properties["late.policy"].place,
            fix="Keep windows open for longer with 'window.lateness', or use side_output.",
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
        f"the join has both WINDOW and {what}.",
        fix="Remove one of them; a predicate in ON can bound event times within a window.",
        place=place,
    )
