"""Test cases of the examples on Spark: exact rows, on each engine that supports the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.examples.test_examples import CASES, is_rejected, name

from millstream.errors import MillstreamError
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.plan.nodes import Engine
from millstream.testing import case as cases
from millstream.testing.case import ENGINES, Case
from millstream.testing.runner import judge
from millstream.testing.sources import case_job
from millstream.testing.spark_runner import SparkRunner


def engines_of(case: Case) -> list[cases.Engine]:
    """Returns the engines that the case names or, by default, those that support its plan."""
    return [engine for engine in case.engines or ENGINES if case.engines or _supports(engine, case)]


def _supports(engine: cases.Engine, case: Case) -> bool:
    try:
        job = case_job(case)
        derive_job_facts(
            replace(job, pipelines=tuple(replace(p, engine=Engine(engine)) for p in job.pipelines))
        )
    except MillstreamError as error:
        return error.code != "MS-PLAN-ENGINE"
    return True


# The three cases of orders always run; the others take seconds each and are slow tests.
RUNS = [
    pytest.param(
        case,
        engine,
        id=f"{name(case)}-{engine}",
        marks=[] if case.path.parts[-3] == "orders" else [pytest.mark.slow],
    )
    for case in CASES
    if not is_rejected(case)
    for engine in engines_of(case)
]


@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_a_case_emits_exactly_the_expected_rows(spark, case: Case, engine) -> None:
    assert judge(case, SparkRunner(spark).run(case, engine)) == ("passed", "")
