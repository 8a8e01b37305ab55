"""Every construct of the SQL, read and described, and every way of not reading it."""

from __future__ import annotations

import pytest
from tests.golden import cases
from tests.sql.describe import describe


@pytest.mark.parametrize("case", cases.cases("sql"))
def test_text_is_read_as_its_golden_file_says(case: cases.Case) -> None:
    cases.check(case, describe)
