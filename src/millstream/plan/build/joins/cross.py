"""Plans CROSS JOIN: all pairs of rows in the same window, which bounds the state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.join_windows import JoinWindows, require_windows
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.window import plan_windowed_join
from millstream.plan.nodes import CrossJoin, JoinKind, Key, WindowJoin
from millstream.temporal import WindowKind


def is_cross_join(clause: exp.Join) -> bool:
    """Tests whether a join is written as CROSS JOIN; a comma in FROM is an inner join."""
    return clause.args.get("kind") == "CROSS" and not clause.meta.get("comma")


def reject_unbounded_cross_join(clause: exp.Join, kind: JoinKind, place: Place | None) -> None:
    """Rejects a CROSS JOIN without a window, or with a side or a condition."""
    if not is_cross_join(clause):
        return
    side = clause.args.get("side")
    if side or clause.args.get("on") is not None or clause.args.get("using"):
        raise PlanError(
            "MS-PLAN-CROSS-JOIN",
            f"CROSS JOIN does not support {side or 'ON or USING'}.",
            fix="Write JOIN … ON with an equality of both sides, or conditions in WHERE.",
            place=place,
        )
    if kind is JoinKind.WINDOW:
        return
    if kind is JoinKind.INTERVAL:
        raise PlanError(
            "MS-PLAN-CROSS-JOIN",
            "a CROSS JOIN of streams without a WINDOW joins every row with every row, so its state "
            "would grow forever.",
            fix="Add WINDOW TUMBLING(…) or SLIDING(…), or write JOIN … ON with an equality of both "
            "sides.",
            place=place,
        )
    raise PlanError(
        "MS-PLAN-CROSS-JOIN",
        "a CROSS JOIN has no key to look up rows of the table.",
        fix="Write JOIN … ON with an equality of both sides.",
        place=place,
    )


def plan_cross_join(left: LeftInput, windows: JoinWindows, options: JoinOptions) -> PlannedJoin:
    """Plans a CROSS JOIN; an equality in WHERE makes it a window join with a key."""
    if left.join_result is None:  # without ON, WINDOW after the right stream applies to both
        windows = replace(windows, left=windows.left or windows.right)
    one, other = require_windows(left, windows, options)
    if WindowKind.SESSION in (one.kind, other.kind):
        raise PlanError(
            "MS-PLAN-CROSS-JOIN",
            "session windows need a key, and a CROSS JOIN has none.",
            fix="Write WINDOW TUMBLING(…) or SLIDING(…), or JOIN … ON with an equality of both "
            "sides.",
            place=options.place,
        )
    if one != other:
        raise PlanError(
            "MS-PLAN-CROSS-JOIN",
            f"{left.name} is in {one}, {options.right.name} in {other}, and a CROSS JOIN "
            "needs the same window on both sides.",
            fix="Use the same window for both.",
            place=options.place,
        )

    def by_window(given: tuple[Key, ...], **fields: Any) -> WindowJoin | CrossJoin:
        return WindowJoin(**fields) if given else CrossJoin(**fields)

    return plan_windowed_join(left, windows, options, by_window)
