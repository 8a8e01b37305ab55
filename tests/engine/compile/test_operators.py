"""Every kind of operator is known to plans and to the columnar engine."""

from __future__ import annotations

from typing import get_args

from millstream.engine.compile.operators import COMPILERS
from millstream.plan.kinds import KINDS
from millstream.plan.nodes import Operator


def test_plans_and_the_engine_know_the_same_kinds_of_operators() -> None:
    assert set(KINDS) == set(get_args(Operator))
    assert set(COMPILERS) == set(KINDS)
