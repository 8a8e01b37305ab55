"""Cases on engines: what runs, what passes, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from millstream.errors import PlanError
from millstream.testing.case import ENGINES, Case, Engine, ExpectedOutput
from millstream.testing.diff import Table
from millstream.testing.runner import Outcome, Result, judge, run_cases

CASE = Case("a", "SELECT 1", Path("a.test.yaml"), expect={"out": ExpectedOutput(({"id": 1},))})
REFUSED = replace(CASE, expect={}, error="MS-PLAN-UNBOUNDED")
GOOD = Outcome({"out": Table(("id",), ({"id": 1},))})
UNBOUNDED = PlanError("MS-PLAN-UNBOUNDED", "the join has no time bound.")


class Fake:
    """A runner that answers with a function, and a report that keeps what it hears."""

    def __init__(self, answer: Callable[[Case, Engine], Outcome]) -> None:
        self.answer = answer
        self.events: list[str] = []
        self.results: list[Result] = []

    def run(self, case: Case, engine: Engine) -> Outcome:
        return self.answer(case, engine)

    def start(self, case: Case, engine: Engine) -> None:
        self.events.append(f"start {case.name} {engine}")

    def done(self, result: Result) -> None:
        self.events.append(f"{result.verdict} {result.case.name} {result.engine}")

    def close(self, results: Sequence[Result]) -> None:
        self.results = list(results)


def test_each_case_runs_on_each_engine_it_asks_for():
    fake = Fake(lambda _, __: GOOD)
    cases = [CASE, replace(CASE, name="b", engines=("native",))]
    assert run_cases(cases, fake, ENGINES, fake) == 0
    assert fake.events == [
        "start a columnar",
        "passed a columnar",
        "start a native",
        "passed a native",
        "start b native",
        "passed b native",
    ]


def test_one_failure_makes_the_exit_code_1_and_stops_nothing():
    fake = Fake(lambda case, _: Outcome({"out": Table(("id",), ())}) if case.name == "a" else GOOD)
    assert run_cases([CASE, replace(CASE, name="b")], fake, ["columnar"], fake) == 1
    assert [result.verdict for result in fake.results] == ["failed", "passed"]
    assert fake.results[0].detail.startswith("out: 1 missing (-), 0 unexpected (+)")


def test_a_run_in_which_nothing_ran_is_not_a_success():
    fake = Fake(lambda _, __: GOOD)
    assert run_cases([replace(CASE, engines=("native",))], fake, ["columnar"], fake) == 1
    assert fake.results == []


def test_seconds_come_from_the_clock():
    fake, ticks = Fake(lambda _, __: GOOD), iter([10.0, 12.5])
    run_cases([CASE], fake, ["columnar"], fake, clock=lambda: next(ticks))
    assert fake.results[0].seconds == 2.5


def test_an_engine_without_support_is_skipped_unless_the_case_asks_for_it():
    outcome = Outcome(unsupported="native has no anti join")
    assert judge(CASE, outcome) == ("skipped", "native has no anti join")
    assert judge(replace(CASE, engines=("native",)), outcome) == (
        "failed",
        "native has no anti join",
    )


def test_a_refusal_with_the_expected_code_passes():
    assert judge(REFUSED, Outcome(error=UNBOUNDED)) == ("passed", "")


def test_a_refusal_with_another_code_fails_with_both():
    other = PlanError("MS-PLAN-NO-WATERMARK", "orders has no watermark.", fix="Add one.")
    assert judge(REFUSED, Outcome(error=other)) == (
        "failed",
        "expected the error MS-PLAN-UNBOUNDED, but got MS-PLAN-NO-WATERMARK: orders has no "
        "watermark. Add one.",
    )


def test_a_job_that_runs_where_a_refusal_is_expected_fails():
    assert judge(REFUSED, GOOD) == (
        "failed",
        "expected the error MS-PLAN-UNBOUNDED, but the job ran",
    )


def test_an_error_where_rows_are_expected_fails_with_it():
    assert judge(CASE, Outcome(error=UNBOUNDED)) == ("failed", str(UNBOUNDED))


@pytest.mark.parametrize("error", [UNBOUNDED, ZeroDivisionError("division by zero")])
def test_whatever_a_runner_raises_is_a_failure_of_that_case_alone(error):
    def answer(case, engine):
        if case.name == "a":
            raise error
        return GOOD

    fake = Fake(answer)
    assert run_cases([CASE, replace(CASE, name="b")], fake, ["columnar"], fake) == 1
    assert [result.verdict for result in fake.results] == ["failed", "passed"]
    assert str(error) in fake.results[0].detail


def test_a_sink_that_the_job_lacks_is_an_error_of_the_case():
    fake = Fake(lambda _, __: Outcome({"out": Table(("id",), ()), "late": Table((), ())}))
    run_cases([replace(CASE, expect={"ouut": ExpectedOutput(())})], fake, ["columnar"], fake)
    assert fake.results[0].detail == (
        "MS-TEST-SINK: the test case expects rows of 'ouut', but the job has no such sink or "
        "side output. Use one of late, out."
    )


def test_all_sinks_that_differ_are_shown():
    case = replace(CASE, expect={"out": ExpectedOutput(()), "late": ExpectedOutput(({"id": 2},))})
    outcome = Outcome({"out": Table(("id",), ({"id": 1},)), "late": Table(("id",), ())})
    verdict, detail = judge(case, outcome)
    assert verdict == "failed"
    assert detail.splitlines() == [
        "out: 0 missing (-), 1 unexpected (+), 0 as expected",
        "    id",
        "  + 1",
        "late: 1 missing (-), 0 unexpected (+), 0 as expected",
        "    id",
        "  - 2",
    ]


def test_a_sink_the_case_does_not_speak_of_is_not_looked_at():
    outcome = Outcome({**GOOD.tables, "late": Table(("id",), ({"id": 9},))})
    assert judge(CASE, outcome) == ("passed", "")
