"""Compares parsed statements and syntax errors with golden files."""

from __future__ import annotations

import pytest
from tests.golden import cases
from tests.sql.describe import describe


@pytest.mark.parametrize("case", cases.cases("sql"))
def test_statements_of_a_text_equal_their_golden_file(case: cases.Case) -> None:
    cases.check(case, describe)
