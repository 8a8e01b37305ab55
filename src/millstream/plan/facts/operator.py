"""What follows from an operator and the plan below it."""

from __future__ import annotations

from millstream.plan.facts.distribution import choose_strategy
from millstream.plan.kinds import kind_of
from millstream.plan.kinds.base import OperatorFacts
from millstream.plan.nodes import Operator


def derive_operator_facts(operator: Operator) -> OperatorFacts:
    found = kind_of(operator).state(operator)
    strategy = choose_strategy(operator)
    return OperatorFacts(operator, strategy, found.expiry, found.state_size, found.emits)
