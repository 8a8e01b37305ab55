"""Describes the cross join: every row with every row of the same window."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from millstream.plan.document import Description, fact
from millstream.plan.kinds import interval_join, window_join
from millstream.plan.kinds.base import OperatorFacts, StreamJoinKind
from millstream.plan.nodes import CrossJoin


def _describe(join: CrossJoin, facts: OperatorFacts) -> Description:
    texts = _warning(join)
    warning = fact("warning", texts[0] if texts else None, "warning", *texts)
    own = (*window_join.windows_facts(join), warning)
    return interval_join.describe_bounded_join(
        "Cross", join, facts, window_join.sides_of(join), own
    )


def _warning(join: CrossJoin) -> tuple[str, ...]:
    if join.salt > 1:
        return ()
    return ("one key group joins all rows of a window; 'join.salt' distributes them over several",)


def _summary(join: CrossJoin) -> str:
    names = (side.name for side in window_join.sides_of(join))
    return f"cross join of {' and '.join(names)} in {join.windows[0]}"


KIND = replace(
    cast("StreamJoinKind[CrossJoin]", window_join.KIND),
    name="cross_join",
    describe=_describe,
    label=lambda _, inputs: f"cross join of {inputs}",
    summary=_summary,
    native_limitation=lambda _: "Spark has no CROSS JOIN of two streams",
)
