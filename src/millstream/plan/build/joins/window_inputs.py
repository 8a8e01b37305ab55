"""What window joins of every kind ask of their two sides."""

from __future__ import annotations

from millstream.errors import PlanError
from millstream.plan.build.joins.join_windows import Windows
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.reject import not_yet
from millstream.temporal import LateAction, LatePolicy, Window


def windows_of(left: Left, windows: Windows, asked: JoinAsked) -> tuple[Window, Window]:
    """The windows of both sides; joins below have given the left side its own already."""
    one, other = windows.left, windows.right
    if left.lifted is not None:
        one = left.window or one
    if one is None or other is None:
        bare = left.name if one is None else asked.right.name
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"one side of the join is in windows, and {bare} is not.",
            fix=f"Write a WINDOW after {bare}, too, or one for both after ON.",
            place=windows.place,
        )
    return one, other


def late_of_windows(asked: JoinAsked) -> LatePolicy:
    late = asked.late
    if late.action is LateAction.REASSIGN:
        raise not_yet(
            "'late.policy' = 'reassign' of a window join",
            asked.properties["late.policy"].place,
            fix="Let windows take rows for longer with 'window.lateness', or use side_output.",
        )
    return late


def refuse_other_bounds(asked: JoinAsked) -> None:
    within = asked.clause.this.args.get("within")
    given = [item for name, item in asked.properties.items() if name.endswith("_bound")]
    given += [item for name, item in asked.properties.items() if name == "join.retention"]
    if within is None and not given:
        return
    what, place = ("WITHIN", asked.place) if within else (f"'{given[0].name}'", given[0].place)
    raise PlanError(
        "MS-PLAN-WITHIN",
        f"the join has a WINDOW and {what}.",
        fix="Leave one of the two out; a predicate of ON may bound the times inside a window.",
        place=place,
    )
