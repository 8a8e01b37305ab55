"""Rejects queries that are too large to be planned in bounded time.

A stream that is read twice is planned twice, so a few statements can describe billions of steps.
"""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.nodes import Node
from millstream.plan.nodes.traversal import children_of
from millstream.plan.reject import place_of
from millstream.sql.limits import MAX_COLUMNS, MAX_JOINS, MAX_STEPS
from millstream.sql.text import SourceText

_FIX = "Write a part's results to a sink, and read them in a second job."


def reject_many_steps(root: Node, place: Place | None) -> None:
    waiting, count = [root], 0
    while waiting:
        count += 1
        if count > MAX_STEPS:
            raise _too_large_error(
                f"this query has more than {MAX_STEPS} sources, queries, joins and operators; a "
                "stream counts each time it is read.",
                place,
            )
        waiting += children_of(waiting.pop())


def reject_many_joins(tree: exp.Select, text: SourceText) -> None:
    joins = tree.args.get("joins") or []
    if len(joins) > MAX_JOINS:
        raise _too_large_error(
            f"this query has {len(joins)} joins; at most {MAX_JOINS} are allowed.",
            place_of(joins[MAX_JOINS], text),
        )


def reject_many_columns(count: int, place: Place | None) -> None:
    if count > MAX_COLUMNS:
        raise PlanError(
            "MS-PLAN-SIZE",
            f"there are more than {MAX_COLUMNS:,} columns.",
            fix="Select only the columns you need, or use an ARRAY or MAP for values of one type.",
            place=place,
        )


def _too_large_error(cause: str, place: Place | None) -> PlanError:
    return PlanError("MS-PLAN-SIZE", cause, fix=_FIX, place=place)
