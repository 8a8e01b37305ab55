"""Resolves 'on.error': what a query does with rows for which an expression fails."""

from __future__ import annotations

from collections.abc import Callable

from millstream.errors import Place, PlanError
from millstream.plan.build.query import PlannedQuery
from millstream.plan.nodes import SinkDef
from millstream.temporal import ErrorAction, ErrorPolicy

FAIL = ErrorPolicy()


def resolve_error_policy(
    planned: PlannedQuery,
    default: str | None,
    sink: Callable[[str, Place | None], SinkDef] | None = None,
) -> ErrorPolicy:
    """Returns the policy of a query.

    Args:
        planned: The query, whose own property has precedence.
        default: The value of `SET 'on.error'`.
        sink: Returns a declared sink by name; None if the query can name none.
    """
    chosen = planned.on_error.value if planned.on_error else default
    action = ErrorAction(chosen.lower()) if chosen else ErrorAction.FAIL
    named = planned.dead_letter
    if named is None:
        return ErrorPolicy(action)
    if action is ErrorAction.FAIL:
        raise PlanError(
            "MS-PLAN-ON-ERROR",
            f"'dead_letter.sink' names {named.value}, but the query stops if an expression fails.",
            fix="Add 'on.error' = 'dead_letter'.",
            place=named.place,
        )
    if sink is None:
        raise PlanError(
            "MS-PLAN-ON-ERROR",
            "'dead_letter.sink' names a sink of a job, and a query in Python has none.",
            fix="Leave it out, and give write() dead_letters={source: …}.",
            place=named.place,
        )
    return ErrorPolicy(action, sink(named.value, named.value_place).name)
