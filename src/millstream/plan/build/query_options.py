"""What a query asks of its operators beside its own clauses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place
from millstream.plan.kinds.operator_properties import OperatorProperties
from millstream.sql.statements import Property
from millstream.temporal import LateAction


@dataclass(frozen=True, slots=True)
class Asked:
    properties: Mapping[str, Property]
    sinks: Collection[str]  # names that 'late.sink' may say
    emit: exp.Expr | None
    place: Place | None
    kinds: tuple[OperatorProperties, ...] = ()  # of other operators of the same query


def keeps_late(asked: Asked) -> bool:
    """Do late rows come out with all that they came with?"""
    policy = asked.properties.get("late.policy")
    return policy is not None and policy.value.lower() == LateAction.SIDE_OUTPUT
