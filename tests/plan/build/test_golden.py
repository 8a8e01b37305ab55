"""Queries and the plans, or the refusals, that come of them."""

from __future__ import annotations

import pytest
from tests.golden import cases
from tests.plan.plans import describe


@pytest.mark.parametrize("case", cases.cases("plan"))
def test_query_is_planned_as_its_golden_file_says(case: cases.Case) -> None:
    cases.check(case, describe)
