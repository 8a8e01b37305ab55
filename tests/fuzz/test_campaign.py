"""A campaign reports each cause once, with the command that repeats it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.fuzz.__main__ import main
from tests.fuzz.campaign import CASES, Campaign, CaseResult, Finding
from tests.fuzz.generate import random_pipeline
from tests.fuzz.texts import TextFuzzer


@dataclass
class Broken:
    """Finds something wrong with every third case, and raises at every fifth."""

    name: str = "broken"
    seeds: list[int] = field(default_factory=list)

    def try_case(self, seed: int) -> CaseResult:
        self.seeds.append(seed)
        if seed % 5 == 4:
            raise ZeroDivisionError
        if seed % 3 == 2:
            return CaseResult("different", Finding("wrong rows", f"case {seed}"))
        return CaseResult("equal")


def test_findings_of_one_cause_are_reported_once_and_counted():
    written: list[str] = []
    campaign = Campaign(Broken(), 7, written.append)
    assert campaign.run(60, cases=6) == 1
    assert "".join(written) == (
        "broken: seed 7, 60 seconds\n"
        "FINDING wrong rows\ncase 7000001\n  python -m tests.fuzz broken --replay 7000001\n"
        "FINDING ZeroDivisionError\n"
        + campaign.found["ZeroDivisionError"][1].detail
        + "\n  python -m tests.fuzz broken --replay 7000004\n"
        "broken: 6 cases (4 equal, 1 different, 1 crashed), 2 findings\n"
        "  1 × wrong rows\n    python -m tests.fuzz broken --replay 7000001\n"
        "  1 × ZeroDivisionError\n    python -m tests.fuzz broken --replay 7000004\n"
    )


def test_a_campaign_ends_when_its_time_is_over():
    fuzzer = Broken()
    assert Campaign(fuzzer, 1, lambda _: None).run(0) == 0
    assert fuzzer.seeds == []


def test_a_campaign_that_is_interrupted_reports_what_it_found():
    class InterruptedCampaign(Broken):
        def try_case(self, seed: int) -> CaseResult:
            if len(self.seeds) == 2:
                raise KeyboardInterrupt
            return super().try_case(seed)

    written: list[str] = []
    assert Campaign(InterruptedCampaign(), 7, written.append).run(60) == 1
    assert "broken: 2 cases (1 equal, 1 different), 1 findings\n" in written


def test_cases_of_two_seeds_are_different():
    first, second = Broken(), Broken()
    Campaign(first, 1, lambda _: None).run(60, cases=3)
    Campaign(second, 2, lambda _: None).run(60, cases=3)
    assert first.seeds == [CASES, CASES + 1, CASES + 2]
    assert not set(first.seeds) & set(second.seeds)


def test_a_seed_always_makes_the_same_pipeline():
    made = [random_pipeline(random.Random("pipeline 5")) for _ in range(2)]
    assert made[0] == made[1]


def test_an_error_of_another_kind_is_a_finding(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("tests.fuzz.texts._outcome", broken)
    finding = TextFuzzer().try_case(1).finding
    assert finding is not None
    assert finding.signature == "KeyError"


def test_one_case_can_be_replayed(capsys):
    assert main(["sql", "--replay", "20000001"]) == 0
    assert "sql: 1 cases (1 " in capsys.readouterr().out
