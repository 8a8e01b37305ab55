"""A short run of every fuzzer with a fixed seed. `make fuzz` runs them for longer, with others."""

from __future__ import annotations

import pytest
from tests.fuzz.campaign import Campaign, Fuzzer
from tests.fuzz.kills import KillFuzzer
from tests.fuzz.pipelines import PipelineFuzzer
from tests.fuzz.texts import TextFuzzer

NO_END = 10_000.0  # seconds: the number of cases decides


def findings(fuzzer: Fuzzer, seed: int, cases: int) -> dict[str, str]:
    campaign = Campaign(fuzzer, seed)
    campaign.run(NO_END, cases)
    return {signature: finding.detail for signature, (_, finding) in campaign.found.items()}


@pytest.mark.slow
def test_mutated_texts_are_planned_or_rejected():
    assert findings(TextFuzzer(), seed=15, cases=600) == {}


@pytest.mark.slow
@pytest.mark.timeout(1_000)
def test_random_pipelines_give_the_rows_of_a_batch_query(spark):
    assert findings(PipelineFuzzer(spark=spark), seed=15, cases=4) == {}


@pytest.mark.slow
@pytest.mark.timeout(1_000)
def test_killed_jobs_give_the_rows_of_an_undisturbed_run():
    assert findings(KillFuzzer(batches=5, rows=40), seed=30, cases=1) == {}
