"""Compares the plans and errors of queries with golden files."""

from __future__ import annotations

import pytest
from tests.golden import cases
from tests.plan.plans import describe


@pytest.mark.parametrize("case", cases.cases("plan"))
def test_plan_of_a_query_equals_its_golden_file(case: cases.Case) -> None:
    cases.check(case, describe)
