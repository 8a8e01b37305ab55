"""What follows from an operator and the plan below it."""

from __future__ import annotations

from millstream.plan.facts.distribution import strategy_of
from millstream.plan.kinds import kind_of
from millstream.plan.kinds.base import OperatorFacts
from millstream.plan.nodes import Operator


def operator_facts(operator: Operator) -> OperatorFacts:
    found = kind_of(operator).state(operator)
    strategy = strategy_of(operator)
    return OperatorFacts(operator, strategy, found.held, found.state, found.comes_out)
