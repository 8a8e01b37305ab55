"""Reads 'join.salt', which distributes the rows of a skewed key over several key groups.

Rows of one side are distributed; rows of the other side are copied to each of the groups, so every
pair is joined once.
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
            "'join.salt' copies the rows of one side to several groups, and a FULL JOIN cannot "
            "decide in one group that a copied row is unmatched.",
            fix="Remove it, or join with LEFT or RIGHT.",
            place=given.place,
        )
    return int(given.value)


def reject_salt(options: JoinOptions, why: str) -> None:
    given = options.properties.get("join.salt")
    if given is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"'join.salt' does not apply to this join: {why}.",
            fix="Remove it.",
            place=given.place,
        )


def reject_excess_salt(pipelines: Iterable[Pipeline], groups: str | None) -> None:
    """Rejects a salt above the job's number of key groups, if it is set."""
    for pipeline in pipelines if groups else ():
        for operator in operators_of(pipeline.root):
            salt = join_kind_of(operator).salt(operator) if isinstance(operator, Join) else 1
            if salt > int(groups or 1):
                raise PlanError(
                    "MS-PLAN-SALT",
                    f"'join.salt' is {salt}, and the job has only {groups} key groups "
                    f"('key_groups').",
                    fix=f"Set {groups} or less, or increase 'key_groups'.",
                    place=operator.place,
                )
