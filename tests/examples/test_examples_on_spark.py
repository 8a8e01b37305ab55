"""Every case of the examples on a real Spark: exact rows, on each engine that supports its plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.examples.test_examples import CASES, is_refused, name

from millstream.errors import MillstreamError
from millstream.plan.facts.pipeline import check_job
from millstream.plan.nodes import Engine
from millstream.testing import case as cases
from millstream.testing.case import ENGINES, Case
from millstream.testing.runner import judge
from millstream.testing.sources import case_job
from millstream.testing.spark_runner import SparkRunner


def engines_of(case: Case) -> list[cases.Engine]:
    """Those that the case names, or that support its plan. A plan that is wrong in another way is
    for the test to tell."""
    return [engine for engine in case.engines or ENGINES if case.engines or _takes(engine, case)]


def _takes(engine: cases.Engine, case: Case) -> bool:
    try:
        job = case_job(case)
        check_job(
            replace(job, pipelines=tuple(replace(p, engine=Engine(engine)) for p in job.pipelines))
        )
    except MillstreamError as error:
        return error.code != "MS-PLAN-ENGINE"
    return True


# The three cases of orders run always; the others, at seconds each, where slow tests are asked for.
RUNS = [
    pytest.param(
        case,
        engine,
        id=f"{name(case)}-{engine}",
        marks=[] if case.path.parts[-3] == "orders" else [pytest.mark.slow],
    )
    for case in CASES
    if not is_refused(case)
    for engine in engines_of(case)
]


@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_a_case_gives_exactly_its_rows(spark, case: Case, engine) -> None:
    assert judge(case, SparkRunner(spark).run(case, engine)) == ("passed", "")
