"""'join.salt': the rows of one key over several groups, for keys that are too many for one.

Rows of one side are spread; those of the other side are in each group, so every pair meets once.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import Join, Pipeline
from millstream.plan.nodes.traversal import operators_of
from millstream.values import JoinType


def resolve_salt(options: JoinOptions) -> int:
    given = options.properties.get("join.salt")
    if given is None:
        return 1
    if options.how is JoinType.FULL:
        raise PlanError(
            "MS-PLAN-SALT",
            "with 'join.salt' the rows of one side are in several groups, and none of a row's "
            "copies could know that the others met nobody, as a FULL JOIN must.",
            fix="Leave it out, or join with LEFT or RIGHT.",
            place=given.place,
        )
    return int(given.value)


def reject_salt(options: JoinOptions, why: str) -> None:
    given = options.properties.get("join.salt")
    if given is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"'join.salt' has no use in this join: {why}.",
            fix="Leave it out.",
            place=given.place,
        )


def reject_excess_salt(pipelines: Iterable[Pipeline], groups: str | None) -> None:
    """Refuse to spread rows over more groups than the job has, if it says how many."""
    for pipeline in pipelines if groups else ():
        for operator in operators_of(pipeline.root):
            salt = join_kind_of(operator).salt(operator) if isinstance(operator, Join) else 1
            if salt > int(groups or 1):
                raise PlanError(
                    "MS-PLAN-SALT",
                    f"'join.salt' spreads rows over {salt} groups, and the job has "
                    f"{groups} ('key_groups').",
                    fix=f"Give {groups} or less, or more key groups.",
                    place=operator.place,
                )
