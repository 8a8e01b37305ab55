"""The job of examples/ads gives the rows that DuckDB computes."""

from __future__ import annotations

import json

import pytest
from tests.cli.jobs import command
from tests.examples import ads_oracle
from tests.examples.generated import Trial


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ads_equals_a_batch_computation_row_by_row(spark, tmp_path):
    trial = Trial.create(tmp_path, "ads", ads_oracle.SOURCES, "--rows", "1500", "--seed", "11")
    trial.drop_all()
    first = command("run", tmp_path / "job.sql", "--once", "--json")
    assert first.exit_code == 0, first.output
    trial.drop_late()
    last = command("run", tmp_path / "job.sql", "--once", "--flush", "--json")
    assert last.exit_code == 0, last.output
    ads_oracle.assert_results(trial, ".millstream/job")
    ads_oracle.assert_ledger(trial, json.loads(last.stdout))
