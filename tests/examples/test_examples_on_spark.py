"""Every case of the examples on a real Spark: exact rows, on each engine that supports its plan."""

from __future__ import annotations

import pytest
from tests.examples.test_examples import CASES, name

from millstream.testing.case import ENGINES, Case
from millstream.testing.runner import judge
from millstream.testing.spark_runner import SparkRunner

# The three cases of orders run always; the others, at seconds each, where slow tests are asked for.
RUNS = [
    pytest.param(
        case,
        engine,
        id=f"{name(case)}-{engine}",
        marks=[] if case.path.parts[-3] == "orders" else [pytest.mark.slow],
    )
    for case in CASES
    if not case.error
    for engine in case.engines or ENGINES
]


@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_a_case_gives_exactly_its_rows(spark, case: Case, engine) -> None:
    assert judge(case, SparkRunner(spark).run(case, engine)) == ("passed", "")
